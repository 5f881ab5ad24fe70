"""One general check a file; each has `check(paper)`, which yields findings, and knows no paper."""
