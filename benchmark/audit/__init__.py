"""What the printed numbers say of each other, before anything is trained."""
