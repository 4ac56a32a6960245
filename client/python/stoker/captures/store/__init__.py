"""Captures in the daemon's store, and the keys that they are found under."""
