"""From functional ATen graphs to programs."""
