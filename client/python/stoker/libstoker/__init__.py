"""libstoker, and this process's connection to the daemon."""
