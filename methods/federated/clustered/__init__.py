"""One model for each cluster of clients."""
