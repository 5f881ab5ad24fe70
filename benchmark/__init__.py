"""The harness: spec → plan → run → store → judge; the audit; the command line."""

__version__ = "0.1.0"
