"""PyTorch's optimizers: what Dynamo does to them while it traces, and what they hold."""
