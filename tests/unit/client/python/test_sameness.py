"""Whether paths lead to the objects that they led to, and what is left of having asked."""

import gc
import weakref

import pytest

from stoker.captures.premises import sameness
from stoker.captures.words.paths import ROOT, Scope, Values

_NODES = [(ROOT, "local", "a"), (ROOT, "local", "b")]


class Given:
    pass


@pytest.fixture(autouse=True)
def without_collections():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("identities", [[[0], [1]], [[0, 1]]], ids=["holds", "another object"])
def test_what_was_compared_dies_with_its_owner(identities):
    given = {"a": Given(), "b": Given()}
    dead = weakref.ref(given["a"])
    different = sameness.first_difference(_NODES, identities, Values(_NODES, Scope(given, {})))
    assert different == (None if len(identities) == 2 else ("b", "a", "another object"))
    del given
    assert dead() is None
