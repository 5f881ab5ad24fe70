"""One rule for dealing images to clients a file, found by its registered name."""
