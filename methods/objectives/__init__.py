"""One pre-training objective a file, found by its registered name."""
