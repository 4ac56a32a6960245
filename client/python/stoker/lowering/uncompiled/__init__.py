"""What becomes of graphs that are not compiled, or not now."""
