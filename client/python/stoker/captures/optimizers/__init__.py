"""Optimizers whose first states and tensors a trace takes for its own."""
