"""Encoders that clients train without labels."""
