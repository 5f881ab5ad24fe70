"""One federated (or centralised) method a file, found by its registered name."""
