"""The audit of the printed numbers as a report: its layout, and one format a file."""
