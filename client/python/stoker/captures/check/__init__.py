"""The guards of a capture, checked against a live program."""
