"""Starts that are traced all the same, and compared with the capture."""
