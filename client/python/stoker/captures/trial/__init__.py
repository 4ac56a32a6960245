"""A trial of a PyTorch that was not tested, in a child process."""
