"""Networks that are split between clients and a server."""
