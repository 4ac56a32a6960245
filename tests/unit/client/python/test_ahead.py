"""Executables that a backward graph needs are made while its forward graph is."""

import os
import threading

import pytest
import torch

from stoker.libstoker import library
from stoker.libstoker.library import StokerError
from stoker.lowering import ahead
from stoker.lowering.compiling import Options
from stoker.lowering.lower import lower

CPU = torch.device("cpu")


def graph(*sizes):
    """Of a sum of squares."""
    def function(x):
        return (torch.ops.aten.sum.default(torch.ops.aten.mul.Tensor(x, x)),)

    return torch.fx.experimental.proxy_tensor.make_fx(function, tracing_mode="fake")(torch.ones(sizes))


class Daemon:
    """In place of one: handles are numbers. `error`: of what is asked in a thread other than the first."""

    def __init__(self):
        self._lock = threading.Lock()
        self.asked, self.freed, self.error = [], [], None
        self.go_on = threading.Event()
        self.go_on.set()

    def compile(self, text, numerics, verify, device):
        is_ahead = threading.current_thread() is not threading.main_thread()
        with self._lock:
            self.asked.append((text, is_ahead))
            handle = len(self.asked)
        if is_ahead:
            self.go_on.wait()
            if self.error is not None:
                raise self.error
        return handle

    def stoker_executable_free(self, handle):
        self.freed.append(handle)


@pytest.fixture
def daemon(monkeypatch):
    made = Daemon()
    monkeypatch.setattr(ahead, "client", lambda: made)
    monkeypatch.setattr(library, "load", lambda: made)
    return made


def begun(forward, backward):
    found = ahead.Ahead(backward)
    found.begin(lower(forward, ()), Options(), CPU)
    return found


def handle_of(found, gm, **options):
    segment, = lower(gm, ()).steps
    return found.handle(segment, Options(**options), CPU)


def test_both_graphs_are_under_way_at_once(daemon):
    forward, backward = graph(3), graph(5)
    daemon.go_on.clear()
    found = begun(forward, backward)  # It waits for neither.
    daemon.go_on.set()
    handles = {handle_of(found, backward), handle_of(found, forward)}
    assert handles == {1, 2} and [is_ahead for _, is_ahead in daemon.asked] == [True, True]


def test_each_is_taken_once(daemon):
    found = begun(graph(3), graph(5))
    assert handle_of(found, graph(5)) != handle_of(found, graph(5))
    assert [is_ahead for _, is_ahead in daemon.asked] == [True, True, False]


def test_what_was_asked_for_otherwise_is_not_taken(daemon):
    found = begun(graph(3), graph(5))
    assert handle_of(found, graph(5), numerics="medium") == 3 and not daemon.asked[-1][1]


def test_what_failed_is_asked_for_again(daemon):
    daemon.error = StokerError(library.UNAVAILABLE, "Nobody answers.")
    found = begun(graph(3), graph(5))
    assert handle_of(found, graph(5)) == 3 and not daemon.asked[-1][1]


def test_a_backward_graph_that_cannot_be_lowered_costs_the_forward_nothing(daemon, monkeypatch):
    def fail(*arguments, **keywords):
        raise AssertionError("a bug in a rule")

    monkeypatch.setattr(ahead, "lower", fail)
    found = begun(graph(3), graph(5))
    assert handle_of(found, graph(3)) == 1 and len(daemon.asked) == 1


def test_without_threads_each_is_compiled_when_it_is_called(daemon, monkeypatch):
    def start(*arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ahead.background, "start", start)
    found = begun(graph(3), graph(5))
    assert [handle_of(found, graph(3)), handle_of(found, graph(5))] == [1, 2]
    assert [is_ahead for _, is_ahead in daemon.asked] == [False, False]


@pytest.mark.parametrize("backward", [None, "symbolic"])
def test_no_thread_where_nothing_comes_later(daemon, backward):
    if backward is not None:
        backward = torch.fx.experimental.proxy_tensor.make_fx(
            lambda x: (x * x,), tracing_mode="symbolic")(torch.ones(3, 4))
    found = begun(graph(3), backward)
    assert not daemon.asked
    assert handle_of(found, graph(3)) == 1 and not daemon.asked[-1][1]


def test_what_nobody_takes_is_freed(daemon):
    found = begun(graph(3), graph(5))
    assert handle_of(found, graph(3)) in (1, 2)
    for thread in threading.enumerate():
        if thread.name == "stoker-ahead":
            thread.join()
    taken = {1, 2} - set(daemon.freed)
    del found
    assert set(daemon.freed) | taken == {1, 2} and len(daemon.freed) == 1


def test_a_forked_process_asks_again(daemon):
    daemon.go_on.clear()
    found = begun(graph(3), graph(5))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if handle_of(found, graph(5)) == 3 and not daemon.asked[-1][1] else 1)
    daemon.go_on.set()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
