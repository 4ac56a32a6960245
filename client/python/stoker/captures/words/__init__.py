"""Values, classes and code in words that mean the same in every process."""
