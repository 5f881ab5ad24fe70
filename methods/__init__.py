"""The learning methods in PyTorch. Knows nothing of tables, papers' numbers or reports."""
