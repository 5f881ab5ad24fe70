"""One model for all clients, trained with labels."""
