"""Optimisers that move many stacked models at once."""
