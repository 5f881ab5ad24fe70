"""One encoder architecture a file, found by its registered name."""
