"""What a capture relies on, each premise with how it is described and how it is checked."""
