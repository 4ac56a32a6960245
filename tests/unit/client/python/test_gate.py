"""Who may pass at once, who alone, and what a signal handler does to that."""

import os
import signal
import threading
import time

import pytest

from stoker.runtime import gate as gate_module
from stoker.runtime.gate import Gate, Inside


@pytest.fixture
def alarm():
    """alarm(handler, seconds): handler() is called then, in the main thread."""
    before = signal.getsignal(signal.SIGALRM)

    def set_alarm(handler, seconds=0.05):
        signal.signal(signal.SIGALRM, lambda number, frame: handler())
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def run_inside(gate, call=lambda leave: None, is_ready=True, make_ready=None):
    return gate.run_inside(lambda given: is_ready, make_ready, "given", call)


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def is_open(gate):
    """May others pass, and be alone?"""
    threads = [in_thread(run_inside, gate), in_thread(gate.run_alone, lambda: None)]
    for thread in threads:
        thread.join(10)
    return not any(thread.is_alive() for thread in threads)


def test_alone_waits_for_those_inside():
    gate, order = Gate(), []

    def inside(leave):
        thread = in_thread(gate.run_alone, lambda: order.append("alone"))
        time.sleep(0.1)
        order.append("inside")
        return thread

    run_inside(gate, inside).join()
    assert order == ["inside", "alone"]


def test_who_has_left_is_not_waited_for():
    gate, order = Gate(), []

    def inside(leave):
        leave()
        gate.run_alone(lambda: order.append("alone"))
        leave()
        order.append("inside")

    run_inside(gate, inside)
    assert order == ["alone", "inside"]


def test_many_may_be_inside():
    gate = Gate()
    assert run_inside(gate, lambda leave: in_thread(run_inside, gate).join(10)) is None
    assert is_open(gate)


def test_nobody_enters_beside_one_alone():
    gate, order = Gate(), []

    def alone():
        thread = in_thread(run_inside, gate, lambda leave: order.append("inside"))
        time.sleep(0.1)
        order.append("alone")
        return thread

    gate.run_alone(alone).join()
    assert order == ["alone", "inside"]


def test_what_is_made_ready_is_so_when_its_maker_is_inside():
    gate, order = Gate(), []

    def make_ready(given):
        order.append(given)

    run_inside(gate, lambda leave: order.append("inside"), is_ready=False, make_ready=make_ready)
    assert order == ["given", "inside"] and is_open(gate)


def test_what_cannot_be_made_ready_keeps_out():
    gate = Gate()

    def refuse(given):
        raise ValueError(given)

    with pytest.raises(ValueError, match="given"):
        run_inside(gate, pytest.fail, is_ready=False, make_ready=refuse)
    assert is_open(gate)


def test_in_a_forked_process_nobody_is_inside():
    gates = [Gate(), Gate()]
    entered, leave = threading.Event(), threading.Event()

    def stay(leave_gate=None):
        entered.set()
        leave.wait()

    threads = [in_thread(run_inside, gates[0], stay), in_thread(gates[1].run_alone, stay)]
    entered.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # Ends a child that waits for threads which are not there.
        run_inside(gates[1])
        gates[0].run_alone(lambda: gates[1].run_alone(lambda: os._exit(0)))
    assert os.waitpid(child, 0)[1] == 0
    leave.set()
    for thread in threads:
        thread.join()
    assert all(map(is_open, gates))


def test_an_interrupt_of_one_who_waits_to_be_alone_leaves_the_gate_open(alarm):
    gate, end = Gate(), threading.Event()
    thread = in_thread(run_inside, gate, lambda leave: end.wait())

    def interrupt():
        raise KeyboardInterrupt

    time.sleep(0.05)
    with pytest.raises(KeyboardInterrupt):
        alarm(interrupt)
        gate.run_alone(pytest.fail)
    end.set()
    thread.join()
    assert is_open(gate)


def test_a_handler_passes_where_its_thread_is_inside_though_another_waits_to_be_alone(alarm):
    gate, passed = Gate(), []

    def inside(leave):
        thread = in_thread(gate.run_alone, lambda: passed.append("alone"))
        alarm(lambda: run_inside(gate, lambda leave: passed.append("handler")))
        time.sleep(0.2)
        return thread

    run_inside(gate, inside).join()
    assert passed == ["handler", "alone"]


@pytest.mark.parametrize("outer", ["inside", "alone"])
@pytest.mark.parametrize("waits", [
    lambda gate: gate.run_alone(pytest.fail), lambda gate: run_inside(gate, pytest.fail, is_ready=False, make_ready=pytest.fail)])
def test_a_handler_that_would_wait_for_its_own_thread_is_told_so(alarm, outer, waits):
    gate, told = Gate(), []

    def handler():
        with pytest.raises(Inside):
            waits(gate)
        told.append(True)

    def stay(leave=None):
        alarm(handler)
        time.sleep(0.2)

    run_inside(gate, stay) if outer == "inside" else gate.run_alone(stay)
    assert told == [True] and is_open(gate)


@pytest.mark.parametrize("beside", [False, True])
def test_a_thread_that_a_handler_waits_for_is_told_so(alarm, beside):
    """Whether it would be alone, or waits behind one who would."""
    gate, told = Gate(), []

    def comes(leave=None):
        with pytest.raises(Inside):
            run_inside(gate, pytest.fail, is_ready=beside, make_ready=pytest.fail)
        told.append(True)

    def stay(leave):
        alone = in_thread(gate.run_alone, lambda: told.append("alone")) if beside else None
        alarm(lambda: in_thread(comes).join(10))
        time.sleep(0.2)
        return alone

    alone = run_inside(gate, stay)
    if beside:
        alone.join()
    assert told == [True, *(["alone"] if beside else [])] and is_open(gate)


def test_what_a_handler_waits_for_runs_beside_what_it_interrupted(alarm):
    gate, order = Gate(), []

    def work():
        alarm(lambda: in_thread(gate.run_alone_or_beside, lambda: order.append("beside")).join(10))
        time.sleep(0.2)
        order.append("alone")

    gate.run_alone_or_beside(work)
    gate.run_alone_or_beside(lambda: gate.run_alone_or_beside(lambda: order.append("within")))
    assert order == ["beside", "alone", "within"] and is_open(gate)


def test_a_thread_waits_for_one_that_computes(monkeypatch):
    """However long it does: what it runs is not the program's, to the gate."""
    gate, order = Gate(), []
    monkeypatch.setattr(gate_module, "LONGEST_S", 0.01)
    monkeypatch.setattr(gate_module, "_OWN", "/")

    def compute(leave):
        thread = in_thread(run_inside, gate, lambda leave: order.append("swapped"), False, lambda given: None)
        time.sleep(0.3)
        order.append("computed")
        return thread

    run_inside(gate, compute).join()
    assert order == ["computed", "swapped"]


class TimeIsUp(Exception):
    pass


def test_no_exception_between_two_lines_closes_the_gate(alarm):
    """Those that are kept hold their frames."""
    gate, ready, kept = Gate(), [True], []

    def interrupt():
        raise TimeIsUp

    def toggle(given):
        ready[0] = not ready[0]
        return ready[0]

    for number in range(300):
        try:
            alarm(interrupt, 2e-5 + number * 1e-6)
            end = time.monotonic() + 1  # Python drops what is raised while it collects garbage.
            while time.monotonic() < end:
                gate.run_inside(toggle, lambda given: None, None, lambda leave: None)
                gate.run_alone(lambda: None)
        except TimeIsUp as error:
            kept.append(error)
    assert len(kept) > 250
    run_inside(gate, is_ready=False, make_ready=lambda given: None)
    assert is_open(gate)
