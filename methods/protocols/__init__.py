"""What is measured on a trained model after training: one protocol a file, found by its name."""
