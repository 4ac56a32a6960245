"""What rules are written with: the table they are in, formulas, and what PyTorch's kernels take."""
