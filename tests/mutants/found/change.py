"""What changes between two processes where no text of the program does."""

ANOTHER_SEED = None  # The second process has another seed of hashes.
