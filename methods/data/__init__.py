"""What clients have: images, how they are partitioned, and random views of them."""
