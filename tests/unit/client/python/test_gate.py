import threading

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
