"""Digests of functions and classes: what changes them, and what of their source does not. Modules stand in files,
and are digested in processes of their own."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import types

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[4] / "client" / "python"

# An annotation is evaluated, from CPython 3.14 on only when somebody asks: by a function that the class holds.
SOURCE = """
LIMIT = 3

def outer(x):
    class Inner:
        '''One.'''
        size: int = 5
        kinds = frozenset(("alpha", "beta", "gamma", "delta"))

        def __init__(self):
            self.one, self.two, self.three, self.four = 1, 2, 3, 4

        def more(self, y: float = 2.0):
            self.five = [z for z in (y, 7) if z in {"alpha", "beta", frozenset(("gamma", "delta"))}]
            return x[1:5], lambda: self.five
    return Inner

class Thing:
    size: int = 5
    limit: float = LIMIT

    def __init__(self):
        self.one, self.two, self.three, self.four = 1, 2, 3, 4

    def make(self):
        class Deep(Thing):
            def __init__(self):
                super().__init__()
                self.six, self.seven, self.eight = 6, 7, 8
        return Deep
"""

REPORT = """
import json, os, sys
from stoker.captures.words import installed
from stoker.captures.words.identity import Describer, code_digest
import subject
if sys.argv[1:] == ["installed"]:
    installed._FOLDERS += (os.path.dirname(subject.__file__),)
describe = Describer()
print(json.dumps({
    "code": code_digest(subject.outer.__code__), "function": describe(subject.outer),
    "class": describe(subject.Thing), "made": describe(subject.outer(0))}))
"""


def digests(folder, source, seed="0", *where):
    folder.mkdir(parents=True)
    (folder / "subject.py").write_text(textwrap.dedent(source))
    paths = [str(PACKAGE), str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = dict(
        os.environ, PYTHONHASHSEED=seed, PYTHONPATH=os.pathsep.join(paths), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *where], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_digests_do_not_depend_on_hash_seed_lines_or_folder(tmp_path):
    first = digests(tmp_path / "first", SOURCE, seed="1")
    assert digests(tmp_path / "second", SOURCE, seed="2") == first
    # So far down that the line is no small number any more.
    assert digests(tmp_path / "third", "\n" * 300 + SOURCE, seed="3") == first
    # The line of a class becomes a number that its body uses.
    line = SOURCE.splitlines().index("    class Inner:") + 1
    source = SOURCE.replace("size: int = 5", "size: int = 11")
    assert digests(tmp_path / "fourth", "\n" * (11 - line) + source) == digests(tmp_path / "fifth", source)


def test_digests_of_installed_code_do_not_depend_on_hash_seed_or_folder(tmp_path):
    source = SOURCE + "    KINDS = property(lambda self: self.kind in {'first', 'second', 'third', 4})\n"
    first = digests(tmp_path / "first", source, "1", "installed")
    assert digests(tmp_path / "second", source, "2", "installed") == first != digests(tmp_path / "third", source)


def of(source, file="<source>"):
    """The code of the function `f` of the text."""
    scope = {}
    exec(compile(textwrap.dedent(source), file, "exec"), scope)
    return scope["f"].__code__


IN_ANY_FILE = pytest.mark.parametrize("file", ["<source>", pytest.__file__])  # A program's, an installed one.


@IN_ANY_FILE
@pytest.mark.parametrize("old, new", [
    ("x = 1", "x = 2"), ("x = 1", "y = 1"), ("x = 1", "x = 300"), ("x = 1", "x = None"), ("x = 1", "x = 1.0"),
    ("x = 1", "x = (1, 2)"), ("x = 1", "x = a"), ("x = 1", "x = frozenset"), ("return self", "return None"),
    ("return self", "return self.x"), ("return A", "return A()"), ("class A:", "class A(list):"),
    ("def g", "def h"), ("x = 1", "x = 1 if a else 2")])
def test_code_of_a_nested_class_counts(old, new, file):
    from stoker.captures.words.identity import code_digest

    source = """
    def f(a):
        class A:
            x = 1
            def g(self):
                self.p, self.q = 1, 2
                return self
        return A
    """
    assert source.count(old) == 1
    assert code_digest(of(source, file)) == code_digest(of(source, file))
    assert code_digest(of(source.replace(old, new), file)) != code_digest(of(source, file))


@pytest.mark.parametrize("old, new", [
    ("a in {1, 2}", "a in {1, 3}"), ("a in {1, 2}", "a in (1, 2)"), ("'Text.'", "'Other.'"), ("b=0", "*, b=0"), ("c = b", "b = b"),
    ("2.5", "float('nan')"), ("        c = b", "        c = b\n        d = 0"), ("1e999 - 1e999", "1e999 + 1e999")])
def test_all_of_installed_code_counts(old, new):
    from stoker.captures.words.identity import code_digest

    source = """
    def f(a, b=0):
        'Text.'
        c = b
        return lambda: a in {1, 2}, 2.5, 1e999 - 1e999
    """
    assert source.count(old) == 1
    assert code_digest(of(source, pytest.__file__)) == code_digest(of(source, pytest.__file__))
    assert code_digest(of(source.replace(old, new), pytest.__file__)) != code_digest(of(source, pytest.__file__))


def test_places_of_installed_code_count_where_code_may_ask():
    from stoker.captures.words.identity import code_digest

    source = "def f(a):\n    return a\n"
    one, other = of(source, pytest.__file__), of("\n" + source, pytest.__file__)
    assert code_digest(one) == code_digest(other) and code_digest(one, lines=True) != code_digest(other, lines=True)
    odd = one.replace(co_consts=(*one.co_consts, object))  # Which no source has.
    assert code_digest(odd) != code_digest(one)


_MANY = "\n".join(f"    b = ({n}.5, b, None)" for n in range(400))  # More than one byte counts.


@pytest.mark.parametrize("body", ["    return None", "    b = 7.5\n    return b, a(1.5, key='text'), None, 7.5"])
def test_documentation_of_a_function_does_not_count(body):
    from stoker.captures.words.identity import code_digest

    plain = code_digest(of(f"def f(a, b=0):\n{body}\n"))
    for text in ("Text.", "Other text.", "7.5"):
        assert code_digest(of(f"def f(a, b=0):\n    {text!r}\n{body}\n")) == plain


@IN_ANY_FILE
@pytest.mark.parametrize("old, new", [
    ("(1.5, 2.5)", "(2.5, 1.5)"), ("a(0, -0.0)", "a(-0.0, 0)"), ("key=3.5", "word=3.5"), ("lambda: 4.5", "lambda: 5.5"),
    ("6.5 + a", "a + 6.5"), ("b = 9.5, 8.5, a", "b = 8.5, 9.5, a"), ("300.75", "299.5"), ("'text'", "'other'")])
def test_constants_of_a_function_count(old, new, file):
    from stoker.captures.words.identity import code_digest

    source = f"""def f(a, b=0):
{_MANY}
    b = 9.5, 8.5, a
    g = lambda: 4.5
    b = 'text'
    return (1.5, 2.5), a(0, -0.0), a(key=3.5), 6.5 + a, g, 300.75
"""
    assert source.count(old) == 1
    assert code_digest(of(source.replace(old, new), file)) != code_digest(of(source, file))


def test_methods_of_a_class_count_and_its_plain_data_do_not():
    from stoker.captures.words.identity import Describer

    def define(text):
        scope = {"__name__": "subject"}
        exec(textwrap.dedent(text), scope)
        return Describer()(scope["A"])

    assert define("class A:\n x = 1\n def f(self): return 1") == define(
        "\n\n\nclass A:\n x = 2\n def f(self): return 1")
    assert define("class A:\n def f(self): return 1") != define("class A:\n def f(self): return 2")


def words_of_a_class(text, names=("f", "unread_text"), enumerates=False):
    from stoker.captures.words.identity import Describer

    scope = {"__name__": "subject"}
    exec(textwrap.dedent(text), scope)
    return Describer(frozenset(names), enumerates=enumerates)(scope["A"])


BEFORE = "import abc, enum, torch\nclass A({}):\n def f(self): return 1\n"


@pytest.mark.parametrize("added", [
    " def unread(self): return 5", " @staticmethod\n def unread(): return 5", " @classmethod\n def unread(cls): return 5",
    " @property\n def unread(self): return 5", " class Unread:\n  def unread(self): return 5", " unread = 5"])
@pytest.mark.parametrize("bases", ["", "torch.nn.Module", "dict"])
def test_functions_that_nothing_asks_for_do_not_count(bases, added):
    assert words_of_a_class(BEFORE.format(bases)) == words_of_a_class(f"{BEFORE.format(bases)}{added}")


@pytest.mark.parametrize("bases, added", [
    ("", " def unread_text(self): return 5"), ("", " def _unread(self): return 5"), ("", " def __len__(self): return 5"),
    ("", " def f(self): return 5"), ("", " def keys(self): return ()"), ("", " def forward(self, x): return x"),
    ("torch.nn.Module", " def extra_repr(self): return ''"), ("dict", " def setdefault(self, *_): return 5"),
    ("", " def torchdynamo_unread(self): return 5"), ("abc.ABC", " @abc.abstractmethod\n def unread(self): return 5"),
    ("abc.ABC", " def unread(self): return 5"), ("enum.Enum", " def unread(self): return 5"),
    ("metaclass=type('M', (type,), {})", " def unread(self): return 5")])
def test_functions_that_something_may_ask_for_count(bases, added):
    assert words_of_a_class(BEFORE.format(bases)) != words_of_a_class(f"{BEFORE.format(bases)}{added}")


def test_all_functions_count_where_code_goes_through_them():
    before, after = BEFORE.format(""), f"{BEFORE.format('')} def unread(self): return 5"
    assert words_of_a_class(before, enumerates=True) != words_of_a_class(after, enumerates=True)


def test_names_that_a_frame_calls_are_found_through_what_it_calls():
    from stoker.captures.words.unread import names_called

    class Net:
        def forward(self):
            return self.first()

        def first(self):
            return [part.second for part in self.parts]

        @property
        def second(self):
            return self.third

        def fourth(self):
            return self.fifth

        def _kept(self):
            return self.sixth

    called = names_called((lambda net: net.forward()).__code__, [Net])
    assert {"first", "second", "third", "sixth"} <= called and called.isdisjoint(("fourth", "fifth"))


def test_whose_globals_a_function_reads_counts(monkeypatch):
    """Of modules of one name and code, only one is found under the name."""
    from stoker.captures.words.identity import Describer

    first, second = (types.ModuleType("executed_twice") for _ in range(2))
    for module in (first, second):
        exec("def scale(x):\n    return x * FACTOR\n", vars(module))
    monkeypatch.setitem(sys.modules, "executed_twice", first)
    assert Describer()(first.scale) != Describer()(second.scale)
    assert Describer()(first.scale) == Describer()(types.FunctionType(first.scale.__code__, vars(first), "scale"))
    second.__name__ = ["no name"]
    assert Describer()(first.scale) != Describer()(second.scale)


def test_a_method_that_its_own_object_holds_is_described():
    from stoker.captures.words.identity import Describer

    class Thing:
        def scaled(self, amount):
            return amount

    thing = Thing()
    thing.run = functools.partial(thing.scaled, amount=2.0)
    words = Describer(frozenset(("run", "scaled")))(thing.scaled)
    thing.run = functools.partial(thing.scaled, amount=3.0)
    assert Describer(frozenset(("run", "scaled")))(thing.scaled) != words


def test_a_dataclass_with_slots_is_found_though_its_methods_hold_the_class_that_it_was_made_of(tmp_path):
    """Cells of methods that call super() hold the first class, which is under no name."""
    (tmp_path / "subject.py").write_text(textwrap.dedent("""
        import dataclasses

        @dataclasses.dataclass(slots=True)
        class Slotted:
            size: int = 5

            def __init__(self):
                super().__init__()

        first = Slotted.__init__.__closure__[0].cell_contents

        @dataclasses.dataclass(slots=True)
        class Other:
            size: int = 5

        Other.__qualname__ = "Slotted"  # Another one of that name.
    """))
    report = """
from stoker.captures.words.identity import Describer
from stoker.captures.bytecode.reads import ALL
import subject
describe = Describer(ALL)
print(describe.refer_to(subject.first), describe.referred["subject:Slotted"] is subject.Slotted)
describe = Describer(ALL)
print(describe.refer_to(subject.Other), describe.referred["subject:Slotted"] is subject.Other)
"""
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{tmp_path}"})
    assert done.stdout.split() == ["subject:Slotted", "True"] * 2, done.stderr
