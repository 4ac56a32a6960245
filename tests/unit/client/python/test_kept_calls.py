"""Host calls that libstoker does itself; a library of the test's own stands for it."""

import types

import pytest

from stoker.libstoker.library import HostFunction, KernelLaunch
from stoker.runtime import host_calls, kept_calls
from stoker.runtime.kept_calls import KeptCalls

LAUNCHES = [types.SimpleNamespace(parts=(number, number + 1, number + 2, None)) for number in (100, 200)]


class Library:
    """It counts what is kept."""

    def __init__(self):
        self.kept, self.done, self.forgotten = {}, 0, 0

    def stoker_executable_keep_host_call(self, handle, call, addresses, count, launch):
        of = launch._obj
        assert isinstance(of, KernelLaunch) and count == len(addresses) and of.extra is None
        self.kept[call, tuple(addresses)] = of.configuration, of.function, of.values
        return None

    def stoker_executable_forget_host_calls(self, handle):
        self.forgotten += 1
        self.kept = {}

    def stoker_kept_host_calls(self):
        return self.done


@pytest.fixture
def asked(monkeypatch):
    """Whether the program asks for the same bits in every call: a list of one."""
    state = [False]
    monkeypatch.setattr(kept_calls, "is_repeatable", lambda: state[0])
    return state


def kept(library):
    calls = KeptCalls(library, None)
    calls.expect()
    return calls


def test_what_is_known_is_kept(asked):
    library = Library()
    calls = kept(library)
    calls.keep(3, (1, 2), LAUNCHES[0])
    calls.keep(3, (1, 5), LAUNCHES[1])
    calls.keep(4, (1, 2), None)
    assert library.kept == {(3, (1, 2)): (100, 101, 102), (3, (1, 5)): (200, 201, 202)} and not library.forgotten


def test_what_asks_for_other_bits_is_no_longer_kept(asked):
    library = Library()
    calls = kept(library)
    calls.keep(3, (1, 2), LAUNCHES[0])
    calls.begin()
    assert library.kept
    asked[0] = True
    calls.begin()
    assert library.forgotten == 1 and not calls._held
    calls.keep(3, (1, 2), LAUNCHES[1])
    asked[0] = False
    calls.keep(4, (6, 7), LAUNCHES[0])
    assert library.kept == {(4, (6, 7)): (100, 101, 102)}


def test_addresses_that_come_and_go_leave_nothing(asked):
    library = Library()
    calls = kept(library)
    for address in range(1, 100):
        calls.keep(0, (address,), LAUNCHES[0])
        assert len(library.kept) <= kept_calls.MAX_OF_CALL and (0, (address,)) in library.kept
        assert len(calls._held) == len(library.kept)


def test_libstoker_knows_no_launch_that_is_not_held(asked):
    """Whatever a signal handler raises in between."""
    library = Library()
    calls = kept(library)

    def interrupt(*_):
        raise KeyboardInterrupt

    library.stoker_executable_keep_host_call = interrupt
    with pytest.raises(KeyboardInterrupt):
        calls.keep(0, (1,), LAUNCHES[0])
    assert calls._held == [LAUNCHES[0]]


def test_nothing_is_asked_where_nothing_can_be_kept():
    calls = KeptCalls(None, None)
    assert calls.begin() is None and calls.done_since(None) == 0


@pytest.mark.parametrize("done_by_library, is_lost", [(1, False), (0, True)])
def test_a_call_that_nobody_made_was_interrupted(asked, monkeypatch, done_by_library, is_lost):
    """Of two, one is the host's."""
    library = Library()
    monkeypatch.setattr(host_calls, "_Call", lambda *_: lambda *memory: None)
    host = host_calls.HostCalls([None, None], "cuda", kept(library))
    assert isinstance(host.function, HostFunction)
    host.begin()
    host.function(None, 0, None, None, None)
    library.done += done_by_library
    assert isinstance(host.error_of(None), KeyboardInterrupt) == is_lost
