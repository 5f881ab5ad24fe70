"""Results that were made elsewhere: files of them, and the cells of a paper that they belong to."""
