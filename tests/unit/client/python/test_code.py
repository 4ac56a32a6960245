"""What bytecode reads by name, and bytecode as JSON."""

import json
import sys
import textwrap

import pytest

from stoker.captures.bytecode.reads import chains_of
from stoker.captures.words.code import attributes_of_global, decode_code, encode_code, global_names


def of(source):
    """The code of the function `f` of the text."""
    scope = {}
    exec(compile(textwrap.dedent(source), "<source>", "exec"), scope)
    return scope["f"].__code__


READS = """
def f(a):
    x = package.module.function(a) + scale
    class A:
        y = numbers.real
        def g(self):
            return inner.value(self)
    return [A for _ in listed.items]
"""
GENERIC = """
def f(a):
    class A:
        def g[T: bounds.upper](self) -> T: ...
    return A
"""
CHAINS = {("package",), ("package", "module"), ("package", "module", "function"), ("scale",), ("numbers", "real"),
          ("inner", "value"), ("listed", "items")}


def test_names_and_what_is_read_from_them():
    assert {"package", "scale", "numbers", "inner", "listed"} <= global_names(of(READS))
    assert CHAINS <= chains_of(of(READS))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax of CPython 3.12")
def test_names_in_what_a_class_evaluates_later():
    assert "bounds" in global_names(of(GENERIC))
    assert ("bounds", "upper") in chains_of(of(GENERIC))


def test_attributes_of_a_global():
    many = "; ".join(f"a.x{i}" for i in range(300))  # Numbers of names grow beyond one byte.
    assert attributes_of_global(of("def f(a): return g.x(a) + g.y"), "g") == ["x", "y"]
    assert attributes_of_global(of(f"def f(a): {many}; return g.x(a) + g.y"), "g") == ["x", "y"]
    assert attributes_of_global(of("def f(a): return g(a) + g.y"), "g") == ["", "y"]


@pytest.mark.parametrize("source", [
    "def f(a): return a[1:], a[:, 2:5], a[...]",
    "def f(a): return a in {1, 2.5, 'x', None, (1, b'y')}, -0.0, 1e400, 3j, 1 << 70",
    "def f(a, /, b=1, *c, d, **e):\n  '''Text.'''\n  return lambda: (a, b, c, d, e)",
    "def f(a):\n  try:\n    return [x + y for x in a for y in (1, 300)]\n  except ValueError as error:\n    raise",
    "def f(a):\n  class A:\n    x: int = a\n    def __init__(self): self.x = super()\n  return A",
    "async def f(a):\n  async with a as b: yield b"])
def test_code_goes_through_json(source):
    code = of(source)
    decoded = decode_code(json.loads(json.dumps(encode_code(code, {}, {}))), code.co_filename, {})
    assert decoded == code and decoded.co_linetable == code.co_linetable


def test_names_are_changed_in_decoded_code():
    code = of("def f(a): return scale * a")
    scope = {"other": 7}
    f = type(of)(decode_code(encode_code(code, {"scale": "other"}, {}), "<decoded>", {}), scope)
    assert f(6) == 42


def test_globals_in_code_are_those_of_the_process():
    """Dynamo's code makes functions with them."""
    recorded, installed = {"__name__": "no_module", "x": 3}, {"x": 5}
    code = of("def f(): return 1, 2, 3")
    code = code.replace(co_consts=(*code.co_consts, recorded, vars(json)))
    words = json.loads(json.dumps(encode_code(code, {}, recorded)))
    constants = decode_code(words, "<decoded>", installed).co_consts
    assert constants[-2] is installed and constants[-1] is vars(json)
