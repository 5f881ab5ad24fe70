"""Checks for methods of one's own, to call from a test: `check_method(MyMethod)`."""

from fedrepro.methods.federated.conformance import NonConformingError, check_method

__all__ = ["NonConformingError", "check_method"]
