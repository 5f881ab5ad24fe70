"""Small-sample statistics behind verdicts and claims: pure functions over plain numbers."""
