"""Finished trials as files: records, arrays, and fingerprints of the code that made them."""
