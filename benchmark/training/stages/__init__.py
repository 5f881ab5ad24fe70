"""One stage of training a file, found by its name, so that a run depends on its own stage alone."""
