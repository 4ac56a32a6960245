"""What CPython's bytecode may read: code objects in, names out."""
