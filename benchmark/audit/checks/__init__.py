"""One general check a file: `check(paper)` yields findings, and is written for no single paper."""
