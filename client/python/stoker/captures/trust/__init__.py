"""Whether captures are used with this PyTorch."""
