"""Convolutions with what follows them, by cuDNN."""
