"""Table specs: reading, validating and expanding them into cells."""
