"""Starts side by side: one is timed at a time, and none computes meanwhile."""

import threading
import time

import gate

STARTS = 12


def test_who_is_timed_is_alone():
    turn, events = gate.Gate(), []

    def start(number):
        with turn.beside_others():
            events.append(("computes", number))
            time.sleep(0.01 * (number % 3))
            events.append(("has computed", number))
        with turn.alone():
            events.append(("is timed", number))
            time.sleep(0.01)
            events.append(("was timed", number))

    starts = [threading.Thread(target=start, args=(number,)) for number in range(STARTS)]
    for each in starts:
        each.start()
    for each in starts:
        each.join()
    computing = set()
    for place, (event, number) in enumerate(events):
        if event == "computes":
            computing.add(number)
        elif event == "has computed":
            computing.discard(number)
        elif event == "is timed":
            assert not computing and events[place + 1] == ("was timed", number)
    assert sum(event == "was timed" for event, _ in events) == STARTS


def test_who_has_begun_goes_on_before_another_is_timed_and_who_has_not_waits():
    turn, events, is_waiting = gate.Gate(), [], threading.Event()

    def timed():
        is_waiting.set()
        with turn.alone():
            events.append("timed")

    def late():
        with turn.beside_others(begins=True):
            events.append("begins")

    with turn.beside_others(begins=True):
        threads = [threading.Thread(target=each) for each in (timed, late)]
        threads[0].start()
        is_waiting.wait()
        time.sleep(0.05)  # It waits to be timed.
        threads[1].start()
        with turn.beside_others():
            events.append("goes on")
    for each in threads:
        each.join()
    assert events == ["goes on", "timed", "begins"]
