"""From a cell to the run that it reads, and from runs to a plan with its cost."""
