"""NotPortable: why something has no form that means the same in another process."""


class NotPortable(Exception):
    """What keeps a capture in its process; the message is counted, so it names kinds and no values."""
