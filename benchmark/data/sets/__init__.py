"""One module a data set, found by its name; nothing lists them."""
