"""Claims of a paper's text as expressions: parsed, bound to cells, tried on print and on trials."""
