"""The harness: specs, plans, execution, store, verdicts, the audit and the command line."""
