"""What is wrong with an archive, or with what was asked of it, for people."""


class ArchiveError(Exception):
    """The message is a sentence."""
