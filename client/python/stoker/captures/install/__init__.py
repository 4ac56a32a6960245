"""From a capture to a frame that runs."""
