"""From stored trials to verdicts, claims and reports as plain data."""
