"""fedrepro: what a published table says, and what its methods give when they are run again."""

__version__ = "0.1.0"
