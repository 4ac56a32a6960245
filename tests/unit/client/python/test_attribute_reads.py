"""What decides about attributes that Python code computes: answers agree with getattr, and stay right while the
dictionaries that they name do."""

import random
import textwrap
import types
from collections import OrderedDict

import pytest

from stoker.captures.bytecode import attribute_reads
from stoker.captures.bytecode.attribute_reads import reads_of

MARK = object()

# The two classes that a configuration of transformers has its `__getattribute__` from, in short.
MAPPED = """
class Careful:
    def __getattribute__(self, key):
        special = super().__getattribute__("__dict__").get("special")
        if special is not None:
            if key in special.names:
                raise ValueError(key)
        return super().__getattribute__(key)

class Mapped(Careful):
    names = {"size": "width"}
    kind = "mapped"

    def __getattribute__(self, key):
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)

    @property
    def inner(self):
        return self.width
"""


def define(text, **names):
    """The last class of the text."""
    scope = {"__name__": "defined", **names}
    exec(textwrap.dedent(text), scope)
    return [each for each in scope.values() if isinstance(each, type)][-1]


def overriding(body, **names):
    """A class whose `__getattribute__` has this body."""
    text = "class Thing:\n    flag = True\n    names = {'a': 'b', 'n': None}\n    def __getattribute__(self, key):\n"
    return define(text + textwrap.indent(textwrap.dedent(body).strip(), " " * 8), **names)


def getting(body, **names):
    """A class with a property `got` whose getter has this body."""
    text = "class Thing:\n    flag = True\n    names = {'a': 'b', 'n': None}\n    @property\n    def got(self):\n"
    return define(text + textwrap.indent(textwrap.dedent(body).strip(), " " * 8), **names)


def instance(cls, **own):
    made = object.__new__(cls)
    object.__getattribute__(made, "__dict__").update(own)
    return made


def agrees(answer, value, name):
    found, result, _ = answer
    try:
        return getattr(value, name) is result and found
    except AttributeError:
        return not found and result is None


def same(dictionaries, expected):
    return [id(each) for each in dictionaries] == [id(each) for each in expected]


@pytest.mark.parametrize("name, found", [
    ("kind", True), ("width", True), ("size", True), ("inner", True), ("names", True), ("__dict__", True),
    ("nothing", False)])
def test_mapped_attributes_are_understood(name, found):
    value = instance(define(MAPPED), width=MARK, special=None)
    answer = reads_of(value, name)
    assert answer is not None and answer[0] is found and agrees(answer, value, name)
    assert same(answer[2], [] if name == "names" else [value.names])


def test_an_object_in_the_way_is_not_understood():
    value = instance(define(MAPPED), width=MARK, special=types.SimpleNamespace(names=["x"]))
    assert value.width is MARK and reads_of(value, "width") is None


@pytest.mark.parametrize("text, own, name", [
    ("class A: x = 1", {"y": MARK}, "y"),
    ("class A: x = 1", {}, "x"),
    ("class A: x = 1", {"x": MARK}, "x"),
    ("class A: x = 1\nclass B(A): x = None", {}, "x"),
    ("class A: pass", {}, "x"),
    ("class A: x = 1", {}, "__dict__"),
    ("class A: x = 1", {}, "__module__"),
    ("class A:\n    x = 1\n    def __getattr__(self, name): return 2", {}, "x"),
    ("class A:\n    x = property(lambda self: self.y)", {"x": 1, "y": MARK}, "x"),
    ("class A:\n    x = property(lambda self: self.y)", {}, "x"),
    ("class A:\n    x = property(lambda self: 'a constant of its own')", {}, "x"),
    ("class A:\n    __slots__ = ('__dict__',)\n    x = 1", {}, "x")],
    ids=lambda x: x.replace("\n", " ") if isinstance(x, str) else "")
def test_generic_attributes_are_understood(text, own, name):
    value = instance(define(text), **own)
    answer = reads_of(value, name)
    assert answer is not None and agrees(answer, value, name) and answer[2] == ()


@pytest.mark.parametrize("body, reads", [
    ("return self.flag", []), ("return self.flag is None", []), ("return self.flag is not self.names", []),
    ("return self.flag != 1", []), ("return self.flag and self.own", []), ("return 1 if self.flag else 2", []),
    ("return 1 if not self.flag else 2", []), ("return self", []), ("return __class__", []),
    ("return self.nothing", []), ("return super().__getattribute__('nothing')", []),
    ("s = super()\nreturn s.__getattribute__('flag')", []),
    ("return self.__dict__.get('own')", []), ("return self.__dict__['own']", []), ("return 'own' in self.__dict__", []),
    ("return self.names['a']", ["names"]), ("return self.names.get('a')", ["names"]),
    ("return self.names.get('b', self.flag)", ["names"]), ("return 'a' in self.names", ["names"]),
    ("return 1 not in self.names", ["names"]), ("return self.names['a'] == 'b'", ["names"]),
    ("return self.names['n'] or self.flag", ["names"]), ("return self.own['a']", ["own"]),
    ("return 'a' in self.own", ["own"]), ("return self.own['a'] if 'a' in self.names else 1", ["names", "own"]),
    ("x = self.own\nif x is None:\n    return x\nelif x['a'] is not None:\n    return self.names['a']\nreturn x",
     ["own", "names"])])
def test_getters_that_are_understood(body, reads):
    value = instance(getting(body), own=OrderedDict(a=MARK))
    answer = reads_of(value, "got")
    assert answer is not None and agrees(answer, value, "got")
    assert same(answer[2], [getattr(value, name) for name in reads])


@pytest.mark.parametrize("body", [
    "return len(self.names)", "return OTHER", "return self.note()", "return self.names['nothing']",
    "return self.names.get", "return self.names.pop('a')", "return self.names.keys()", "return self.own.get('a')",
    "return self.thing.x", "return self.thing == 1", "return 1 if self.thing else 2", "return self.names == 1",
    "return 1 < 2", "return self.thing['a']", "return self.names[1.0]", "return self.names[self.thing]",
    "return f'{self.flag}'", "return [self.flag]", "return super()", "return super().names",
    "return super(int, self).__getattribute__('flag')", "return object.__getattribute__(self, 'flag')",
    "return getattr(self, 'flag')", "return self.names.get('a', 'b', 'c')", "return super().__getattribute__(1)",
    "raise AttributeError", "try:\n    return self.flag\nexcept AttributeError:\n    return None",
    "x = 1\nwhile x != 3:\n    x = 3 if x == 2 else 2\nreturn x", "for x in self.names:\n    return x\nreturn 2",
    "yield self.flag", "self.flag = 1\nreturn 1", "self = 3\nreturn super().__getattribute__('flag')",
    "if self.thing is None:\n    x = 1\nreturn x", "return (lambda: self)()", "return self.got",
    "return self.text['a']", "import os\nreturn os", "return MARK is self", "global z\nz = 1\nreturn z",
    "x = self.flag\n" * 500 + "return x"],
    ids=lambda body: body[:60].replace("\n", "; "))
def test_getters_that_are_not_understood(body):
    value = instance(getting(body, OTHER=MARK, MARK=MARK), own=OrderedDict(a=MARK), thing=MARK, note=id, text="text")
    assert reads_of(value, "got") is None


@pytest.mark.parametrize("body", [
    "return GLOBAL", "print\nreturn super().__getattribute__(key)", "note(key)\nreturn super().__getattribute__(key)",
    "super().__getattribute__('__dict__')['count'] += 1\nreturn super().__getattribute__(key)",
    "try:\n    return super().__getattribute__(key)\nexcept AttributeError:\n    return 1",
    "for x in (1, 2):\n    pass\nreturn super().__getattribute__(key)",
    "while key != 'names':\n    key = 'names' if key == 'x' else 'x'\nreturn super().__getattribute__(key)",
    "return self.flag"], ids=lambda body: body[:60].replace("\n", "; "))
def test_overrides_that_are_not_understood(body):
    value = instance(overriding(body, GLOBAL=1, note=lambda key: None), count=0)
    assert reads_of(value, "flag") is None


@pytest.mark.parametrize("text, name", [
    ("class A:\n    def x(self): pass", "x"),
    ("class A:\n    x = staticmethod(len)", "x"),
    ("class A:\n    x = classmethod(len)", "x"),
    ("class A: __slots__ = ('x', '__dict__')", "x"),
    ("class A:\n    __slots__ = ()\n    x = 1", "x"),
    ("class A: pass", "__class__"),
    ("class A:\n    x = property()", "x"),
    ("class A:\n    x = property(len)", "x"),
    ("class P(property): pass\nclass A:\n    x = P(lambda self: 1)", "x"),
    ("class V: pass\nclass A:\n    x = V()", "x"),
    ("class V:\n    def __get__(self, *args): return 1\nclass A:\n    x = V()", "x"),
    ("class A:\n    def __getattr__(self, name): return 1", "x"),
    ("class A:\n    def __getattr__(self, name): return 1\nclass B(A):\n    x = property(lambda self: self.y)", "x"),
    ("class A:\n    def __getattribute__(self, key, more=1): return 1", "x"),
    ("class A:\n    def __getattribute__(self, *keys): return 1", "x"),
    ("class A:\n    __getattribute__ = staticmethod(len)", "x"),
    ("class A:\n    x = property(lambda self, y=1: y)", "x"),
    ("class A:\n    __dict__ = {'x': 1}", "x"),
    ("class A(super): x = 1", "x"),
    ("class A(type): x = 1", "x")], ids=lambda x: x.replace("\n", " "))
def test_classes_that_are_not_understood(text, name):
    cls = define(text)
    value = cls("name", (), {}) if issubclass(cls, type) else cls.__new__(cls)
    assert reads_of(value, name) is None


@pytest.mark.parametrize("value, name", [
    (3, "real"), (MARK, "x"), (types, "ModuleType"), (int, "real"), (ValueError(), "args"), (reads_of, "__name__")])
def test_values_without_a_class_in_python_are_not_understood(value, name):
    assert reads_of(value, name) is None


def test_names_are_texts():
    for name in (1, None, type("Text", (str,), {})("x")):
        assert reads_of(instance(define("class A: x = 1")), name) is None


def test_shadowed_super_is_not_understood():
    cls = define(MAPPED)
    value = instance(cls, width=MARK)
    assert reads_of(value, "width")[1] is MARK
    cls.__getattribute__.__globals__["super"] = lambda: None
    assert reads_of(value, "width") is None


def test_changed_code_is_read_anew():
    cls = getting("return 1")
    value = instance(cls)
    assert reads_of(value, "got")[1] == 1
    cls.got.fget.__code__ = (lambda self: self.own).__code__
    object.__getattribute__(value, "__dict__")["own"] = MARK
    assert reads_of(value, "got")[1] is MARK


@pytest.mark.parametrize("properties, understood", [(8, True), (9, False)])
def test_depth_is_limited(properties, understood):
    text = "class A:\n    p0 = 5\n" + "".join(
        f"    p{i + 1} = property(lambda self: self.p{i})\n" for i in range(properties))
    assert (reads_of(instance(define(text)), f"p{properties}") is not None) is understood


def test_other_versions_are_not_understood(monkeypatch):
    monkeypatch.setattr(attribute_reads, "_VERSIONS", ())
    assert reads_of(instance(define("class A: x = 1")), "x") is None


def test_no_code_of_the_program_runs():
    ran = []

    class Key:
        def __hash__(self):
            return hash("x")

        def __eq__(self, other):
            ran.append("key")
            return False

    class Meta(type):
        def __getattribute__(cls, name):
            ran.append(name)
            return super().__getattribute__(name)

        __mro__ = property(lambda cls: ran.append("__mro__"))
        __eq__ = __bool__ = lambda *args: ran.append("compared")
        __hash__ = type.__hash__

    class Thing(metaclass=Meta):
        names = {"a": 1}
        __class__ = property(lambda self: ran.append("__class__"))
        __eq__ = __bool__ = lambda *args: ran.append("compared")
        x = property(lambda self: self.names["a"])

        def __getattribute__(self, key):
            return super().__getattribute__(key)

    value = object.__new__(Thing)
    assert reads_of(value, "x")[:2] == (True, 1)
    assert reads_of(value, "__class__") is None
    object.__getattribute__(value, "__dict__").update(other=object.__new__(Thing), y={Key(): 1})
    assert reads_of(value, "other")[0]
    object.__getattribute__(value, "__dict__")[Key()] = 1
    assert reads_of(value, "x") is None
    assert ran == []


def gpt2():
    return pytest.importorskip("transformers").GPT2Config()


@pytest.mark.parametrize("name, found", [
    ("use_cache", True), ("return_dict", True), ("_attn_implementation", True), ("hidden_size", True),
    ("n_embd", True), ("output_attentions", True), ("nothing", False)])
def test_configurations_of_transformers_are_understood(name, found):
    config = gpt2()
    answer = reads_of(config, name)
    assert answer is not None and answer[0] is found and agrees(answer, config, name)
    assert any(each is config.attribute_map for each in answer[2])


def test_base_configuration_of_transformers_is_understood():
    config = pytest.importorskip("transformers").PretrainedConfig()
    for name in ("return_dict", "_attn_implementation", "nothing"):
        answer = reads_of(config, name)
        assert answer is not None and agrees(answer, config, name)


def test_heterogeneous_configuration_of_transformers_is_not_understood():
    config = gpt2()
    config.__dict__["_heterogeneity_spec"] = types.SimpleNamespace(per_layer_attributes={})
    assert reads_of(config, "use_cache") is None


# ---- random classes ------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "names", "more")
OVERRIDES = (
    "return super().__getattribute__(key)",
    """
    if key != "names" and key in super().__getattribute__("names"):
        key = super().__getattribute__("names")["a"]
    return super().__getattribute__(key)
    """,
    """
    more = super().__getattribute__("__dict__").get("more")
    if more is not None and "b" in more:
        return more["b"]
    return super().__getattribute__(key)
    """,
    "return super().__getattribute__('c' if key == 'a' else key)",
    "return super().__getattribute__('names').get(key, super().__getattribute__(key))",
    "return GLOBALS['a'] if key == 'b' else super().__getattribute__(key)")
GETTERS = (
    "self.b", "self.names['b']", "self.names.get('c')", "self.more.get('a', self.b)", "self.a is self.b",
    "self.names", "self.c or self.b", "self.a and self.c", "GLOBALS['a']", "GLOBALS", "self.thing.a",
    "self.more['a'] if 'a' in self.names else self.b", "self.names['a']['b']", "self.a == self.b",
    "self.names['a'].get('b')", "self.__dict__.get('a')", "super().__getattribute__('names')")


class World:
    """An instance of random classes, and all that its attributes may come from but the classes themselves."""

    def __init__(self, chance):
        self._chance = chance
        self.globals = {name: MARK for name in NAMES}
        self.thing_class = type("Thing", (), {})
        self.thing = self.thing_class()
        self.dictionaries = [chance.choice((dict, dict, OrderedDict))() for _ in range(6)]
        for each in self.dictionaries:
            self.fill(each, 3)
        self.value = self._instance()

    def any_value(self):
        if self._chance.random() < 0.5:
            return self._chance.choice(self.dictionaries)
        return self._chance.choice((0, 1, True, None, "", "a", "b", 2.5, 10 ** 20, self.thing, (1, "a")))

    def fill(self, dictionary, count, names=NAMES):
        for name in self._chance.sample(names, count):
            dictionary[name] = self.any_value()

    def _instance(self):
        lines = []
        for place in range(3):
            lines += [f"class C{place}({f'C{place - 1}' if place else ''}):", "    note = 0"]
            if self._chance.random() < 0.4:
                lines.append("    def __getattribute__(self, key):")
                body = textwrap.dedent(self._chance.choice(OVERRIDES)).strip()
                lines.append(textwrap.indent(body, " " * 8))
            for name in self._chance.sample(NAMES, 2):
                if name in ("a", "b", "c"):
                    getter = self._chance.choice(GETTERS)
                    lines += ["    @property", f"    def {name}(self):", f"        return {getter}"]
        cls = define("\n".join(lines), GLOBALS=self.globals)
        for base in cls.__mro__[:-1]:
            for name in NAMES:
                if name not in vars(base) and self._chance.random() < 0.3:
                    plain = self._chance.choice(self.dictionaries) if name == "names" else self.any_value()
                    setattr(base, name, plain)
        value = cls()
        self.fill(object.__getattribute__(value, "__dict__"), 2, ("a", "b", "c", "names", "more", "names_"))
        return value

    def change_other_than(self, dictionaries):
        """Something that is neither of the instance nor of its classes nor one of the dictionaries."""
        others = [each for each in (*self.dictionaries, self.globals, vars(self.thing))
                  if all(each is not known for known in dictionaries)]
        for each in others:
            if self._chance.random() < 0.5:
                each.clear()
            self.fill(each, 2)
        if hasattr(self.thing_class, "__get__"):
            del self.thing_class.__get__
        else:
            self.thing_class.__get__ = lambda *args: object()


def read(value, name):
    try:
        return getattr(value, name)
    except AttributeError:
        return AttributeError


@pytest.mark.parametrize("seed", range(20))
def test_answers_hold_while_their_dictionaries_do(seed):
    chance = random.Random(seed)
    understood = missing = with_dictionaries = 0
    for _ in range(25):
        world = World(chance)
        for name in NAMES * 2:
            answer = reads_of(world.value, name)
            if answer is None:
                continue
            found, result, dictionaries = answer
            expected = result if found else AttributeError
            assert read(world.value, name) is expected
            for _ in range(3):
                world.change_other_than(dictionaries)
                assert read(world.value, name) is expected
            understood += 1
            missing += not found
            with_dictionaries += bool(dictionaries)
    assert understood > 60 and missing > 5 and with_dictionaries
