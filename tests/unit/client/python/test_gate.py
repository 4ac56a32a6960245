import os
import signal
import threading

import pytest

from stoker.runtime.gate import Gate


def test_alone_waits_for_those_inside():
    gate = Gate()
    order = []
    gate.enter()

    def bind():
        with gate.alone():
            order.append("alone")

    thread = threading.Thread(target=bind)
    thread.start()
    order.append("inside")
    gate.leave()
    thread.join()
    assert order == ["inside", "alone"]


def test_many_may_be_inside():
    gate = Gate()
    gate.enter()
    gate.enter()
    gate.leave()
    gate.leave()
    with gate.alone():
        pass


def test_nobody_enters_beside_one_alone():
    gate = Gate()
    order = []

    def enter():
        gate.enter()
        order.append("entered")
        gate.leave()

    with gate.alone():
        thread = threading.Thread(target=enter)
        thread.start()
        order.append("alone")
    thread.join()
    assert order == ["alone", "entered"]


def test_what_is_done_alone_before_entering_keeps_out_if_it_raises():
    gate = Gate()

    def refuse():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        gate.enter_after(refuse)
    gate.enter_after(lambda: None)
    gate.leave()
    with gate.alone():
        pass


def test_in_a_forked_process_nobody_is_inside():
    gates = [Gate(), Gate()]
    gates[0].enter()
    entered, leave = threading.Event(), threading.Event()

    def stay_alone():
        with gates[1].alone():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay_alone)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # Ends a child that waits for threads which are not there.
        gates[1].enter()
        gates[1].leave()
        with gates[0].alone(), gates[1].alone():
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    leave.set()
    thread.join()
    gates[0].leave()
    assert gates[0]._inside == 0


def test_an_interrupt_of_one_who_waits_to_be_alone_leaves_the_gate_open():
    gate = Gate()
    gate.enter()

    def interrupt(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with gate.alone():
                pass
    finally:
        signal.signal(signal.SIGALRM, previous)
    gate.leave()
    entering = threading.Thread(target=gate.enter, daemon=True)
    entering.start()
    entering.join(10)
    assert not entering.is_alive()
