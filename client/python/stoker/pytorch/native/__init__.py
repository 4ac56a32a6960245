"""What is asked of many tensors in every call, where it lies in memory."""
