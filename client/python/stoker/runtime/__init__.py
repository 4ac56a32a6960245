"""Runs programs: compiled segments, and operators of PyTorch between them."""
