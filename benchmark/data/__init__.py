"""Data sets by name, with what they are, where they came from and how they are brought to size."""
