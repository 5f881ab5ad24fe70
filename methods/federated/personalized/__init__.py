"""A model of its own for each client."""
