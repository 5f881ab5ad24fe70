"""Random views of images, as batched tensor code."""
