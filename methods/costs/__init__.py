"""What networks and methods cost: parameters, operations, bytes."""
