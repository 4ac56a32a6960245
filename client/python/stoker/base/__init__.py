"""What every other package may use, and what needs neither PyTorch nor libstoker."""
