"""Host calls that libstoker does itself; a library of the test's own stands for it."""

import pytest

from stoker.libstoker.library import HostFunction
from stoker.runtime import host_calls, kept_calls
from stoker.runtime.kept_calls import KeptCalls

STREAM = 5


class Library:
    """What gives something is kept."""

    def __init__(self):
        self.kept, self.given, self.done, self.forgotten = set(), [], 0, 0

    def stoker_executable_record_host_call(self, handle, call, addresses, count, sizes, num_sizes, give, context, is_kept):
        assert count == len(addresses) and num_sizes == len(sizes)
        before = len(self.given)
        if give(context, STREAM) == 0 and len(self.given) == before + 1:
            self.kept.add((call, (*addresses, *sizes)))
            is_kept._obj.value = 1
        return None

    def stoker_executable_forget_host_calls(self, handle):
        self.forgotten += 1
        self.kept = set()

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


def recorded():
    return kept_calls.tally.counters().get("convolutions_recorded", 0)


def test_what_is_one_kernel_is_kept(asked):
    library, before = Library(), recorded()
    calls = kept(library)
    calls.record(3, (1, 2), (), library.given.append)
    calls.record(3, (1, 5), (), lambda stream: library.given.extend([stream, stream]))
    calls.record(4, (1, 2), (), lambda stream: None)
    assert library.kept == {(3, (1, 2))} and library.given == [STREAM] * 3 and recorded() == before + 1
    calls.record(3, (1, 2), (8, 16), library.given.append)
    calls.record(3, (1, 2), (4, 16), library.given.append)
    calls.record(3, (1, 2), (8, 16), pytest.fail)
    assert library.kept == {(3, (1, 2)), (3, (1, 2, 8, 16)), (3, (1, 2, 4, 16))} and recorded() == before + 3


def test_what_is_more_is_tried_once(asked):
    library, tried = Library(), []
    calls = kept(library)
    for _ in range(5):
        calls.record(3, (1, 2), (), tried.append)
    assert tried == [STREAM] and not library.kept


def test_what_fails_as_it_is_recorded_is_not_kept(asked):
    library = Library()

    def fail(stream):
        library.given.append(stream)
        raise RuntimeError("a run gave 5003")

    kept(library).record(0, (1,), (), fail)
    assert not library.kept


def test_an_interrupt_as_it_is_recorded_is_raised(asked):
    def interrupt(stream):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(Library()).record(0, (1,), (), interrupt)


def test_what_asks_for_other_bits_is_no_longer_kept(asked):
    library = Library()
    calls = kept(library)
    calls.record(3, (1, 2), (), library.given.append)
    calls.begin()
    assert library.kept
    asked[0] = True
    calls.begin()
    assert library.forgotten == 1 and not library.kept
    calls.record(3, (1, 2), (), library.given.append)
    asked[0] = False
    calls.record(4, (6, 7), (), library.given.append)
    assert library.kept == {(4, (6, 7))}


def test_addresses_that_come_and_go_leave_nothing(asked):
    library = Library()
    calls = kept(library)
    for address in range(1, 100):
        calls.record(0, (address,), (), library.given.append)
        assert len(library.kept) <= kept_calls.MAX_OF_CALL and (0, (address,)) in library.kept


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
