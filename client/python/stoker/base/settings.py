"""Settings in the environment that take one of several words."""

import logging
from os import environ  # A program may put something else into its place.

_said = set()


def choice(variable, choices):
    """What `variable` says, in lower case; "", as where it is unset, for what is none of `choices`: a warning names it."""
    text = environ.get(variable, "")
    chosen = text.lower()
    if not chosen or chosen in choices:
        return chosen
    if (variable, text) not in _said:
        _said.add((variable, text))
        # Not by way of log.py, which asks for a choice before there is a logger.
        logging.getLogger("stoker").warning(
            "%s is %s and counts for nothing; expected is one of %s.", variable, ascii(text), ", ".join(choices))
    return ""
