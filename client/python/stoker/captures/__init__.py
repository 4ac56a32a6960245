"""Captures: what a compiled call was, so that a new process runs it without tracing. README.md explains."""
