"""What federated methods are compared with: central training, training alone, no training."""
