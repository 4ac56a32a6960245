import dis
import gc
import weakref

import pytest

from stoker.captures.bytecode import instructions


@pytest.fixture(autouse=True)
def forgets():
    instructions.forget()
    yield
    instructions.forget()


def made(source="x = y.z"):
    return compile(source, "made", "exec")


def test_all_of_is_what_python_says():
    code = made("for a in b: c(a)")
    assert list(instructions.all_of(code)) == list(dis.get_instructions(code))


def test_what_does_nothing_by_itself_is_left_out():
    code = made("f(1)")
    effective = instructions.effective_of(code)
    assert effective == [each for each in dis.get_instructions(code) if not instructions.is_neutral(each)]
    assert len(effective) < len(list(dis.get_instructions(code)))


def test_code_is_taken_apart_once():
    code = made()
    assert instructions.all_of(code) is instructions.all_of(code)
    assert instructions.effective_of(code) is instructions.effective_of(code)


def test_equal_code_of_other_places_is_other_code():
    """Python's own comparison leaves out the file."""
    one, other = made(), made().replace(co_filename="another")
    assert one == other
    assert instructions.all_of(one) is not instructions.all_of(other)


def test_forgotten_code_can_go():
    code = made()
    instructions.effective_of(code)
    gone = weakref.ref(code)
    instructions.forget()
    del code
    gc.collect()
    assert gone() is None


def test_of_much_code_the_latest_is_kept(monkeypatch):
    monkeypatch.setattr(instructions, "_MOST", 2)
    codes = [made(f"x = {number}") for number in range(5)]
    for code in codes:
        assert list(instructions.all_of(code)) == list(dis.get_instructions(code))
    assert instructions.all_of(codes[-1]) is instructions.all_of(codes[-1])
