"""Objects as long as somebody else holds them."""

import gc
import weakref

from stoker.base.living import Living
from stoker.runtime import binding, release


class Thing:
    pass


def test_they_go_when_nobody_else_holds_them():
    things, living = [Thing() for _ in range(3)], Living()
    for thing in things:
        living.add(thing)
    assert list(living) == things
    del things[1], thing
    gc.collect()
    assert list(living) == things


def test_one_is_found_under_its_key_and_gives_way_to_another():
    first, second, living = Thing(), Thing(), Living()
    living.add(first, "key")
    assert living.get("key") is first and living.get("other") is None
    living.add(second, "key")
    assert living.get("key") is second and list(living) == [second]


def test_those_that_went_take_no_room():
    living, kept = Living(), [Thing() for _ in range(10)]
    for place in range(5000):
        living.add(Thing(), place)
        living.add(kept[place % 10], -1 - place % 10)
    assert len(living._references) < 500 and set(living) == set(kept)


def test_no_code_runs_when_one_goes():
    """Python drops what a signal handler raises there."""
    thing, living = Thing(), Living()
    living.add(thing)
    assert [each.__callback__ for each in weakref.getweakrefs(thing)] == [None]
    assert type(binding._contents) is type(release._bindings) is Living
