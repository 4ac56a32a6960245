"""What is changed of forward and backward while they are one graph."""
