"""Python's own builtins, and what a program put among them."""

import builtins
import math
import sys
import types

import pytest

from stoker.captures.words.builtin_names import NOTHING, put_there

THIS = sys.modules[__name__]


def test_pythons_own_are_nothing_that_a_program_put_there():
    own = [name for name in vars(builtins) if put_there(THIS, name) is NOTHING]
    assert {"len", "open", "None", "IOError", "ExceptionGroup", "__debug__"} <= set(own)
    assert put_there(THIS, "stoker_test_name") is NOTHING


@pytest.mark.parametrize("name, value", [
    ("stoker_test_name", 5), ("len", lambda value: 7), ("max", min), ("abs", math.fabs), ("int", type("int", (int,), {}))])
def test_what_a_program_put_there_is_found(name, value):
    module = types.ModuleType("stoker_test_module")
    vars(module)["__builtins__"] = {**vars(builtins), name: value}
    assert put_there(module, name) is value and put_there(module, "sum") is NOTHING
