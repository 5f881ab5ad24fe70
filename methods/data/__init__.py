"""What clients have: images, how they are dealt, and random views of them."""
