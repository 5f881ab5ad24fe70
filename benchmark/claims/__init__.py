"""Claims of a paper's text: parsed, bound to cells, compared with published values and trials."""
