"""What hides a client's images and weights from a server, and what an attacker makes of them."""
