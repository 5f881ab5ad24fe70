"""What federated methods are held against: central training, training alone, no training."""
