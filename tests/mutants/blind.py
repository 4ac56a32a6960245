"""A planted hole: what guards and the key of a capture do not say is taken to be as it was."""

from stoker.captures.premises import facts, objects


def make_blind():
    """This process."""
    facts.first_difference = objects.first_difference = objects.first_kind_difference = lambda *arguments: None
