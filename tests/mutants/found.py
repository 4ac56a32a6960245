"""Holes that the search found, and that were closed: a program, and what a second process changed in it.

Each is a program of the corpus, too: what comes close to a hole is searched again.
"""

from mutants.mutant import Mutant
from mutants.programs import Program

ANOTHER_SEED = None  # In place of a change: the second process has another seed of hashes.

_HEADER = '''import abc
import enum
import os
import sys

import torch
from torch.utils import _pytree as pytree

THIS = sys.modules[__name__]

'''
_MAKE = '''


def make():
    return entry, (torch.linspace(-1, 1, 8),)
'''

# Name -> (program, old, new).
FOUND = {
    "format_attr": ('''
class Config:
    rate = 1.5


def entry(x):
    return x * float("{0.rate}".format(Config))
''', "rate = 1.5", "rate = 2.5"),
    "abc_tuple": ('''
class Shape(abc.ABC):
    pass


class Thing:
    pass


THING = Thing()
KINDS = (Shape,)
# MORE


def entry(x):
    return x * 2 if isinstance(THING, KINDS) else x * 3
''', "# MORE", "Shape.register(Thing)"),
    "abc_made": ('''
class Shape(abc.ABC):
    pass


class Thing:
    pass


# MORE


def entry(x):
    return x * 2 if isinstance(Thing(), Shape) else x * 3
''', "# MORE", "Shape.register(Thing)"),
    "abc_sub": ('''
class Shape(abc.ABC):
    pass


class Thing:
    pass


# MORE


def entry(x):
    return x * 2 if issubclass(Thing, Shape) else x * 3
''', "# MORE", "Shape.register(Thing)"),
    "abc_attr": ('''
class Shape(abc.ABC):
    pass


class Thing:
    pass


class Holder:
    kind = Shape
    thing = Thing()


# MORE


def entry(x):
    return x * 2 if isinstance(Holder.thing, Holder.kind) else x * 3
''', "# MORE", "Shape.register(Thing)"),
    "abc_default": ('''
class Shape(abc.ABC):
    pass


class Thing:
    pass


THING = Thing()


def ask(thing, kind=Shape):
    return isinstance(thing, kind)


# MORE


def entry(x):
    return x * 2 if ask(THING) else x * 3
''', "# MORE", "Shape.register(Thing)"),
    "abc_closure": ('''
class Shape(abc.ABC):
    pass


class Thing:
    pass


THING = Thing()


def over(kind):
    return lambda thing: isinstance(thing, kind)


ask = over(Shape)
# MORE


def entry(x):
    return x * 2 if ask(THING) else x * 3
''', "# MORE", "Shape.register(Thing)"),
    "hasattr_made": ('''
EXTRA = "ex"
# MORE


def entry(x):
    return x * 2 if hasattr(THIS, f"{EXTRA}tra") else x * 3
''', "# MORE", "extra = 1"),
    "getattr_made": ('''
EXTRA = "ex"
# MORE


def entry(x):
    return x * getattr(THIS, f"{EXTRA}tra", 2.0)
''', "# MORE", "extra = 1.5"),
    "module_dir": ('''
value_1 = 1
# MORE


def entry(x):
    return x * len([name for name in dir(THIS) if name.startswith("value_")])
''', "# MORE", "value_2 = 1"),
    "hash_str": ('''
NAME = "abc"


def entry(x):
    return x * (hash(NAME) % 97)
''', ANOTHER_SEED),
    "hash_obj": ('''
class Named:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)


NAMED = Named("abc")


def entry(x):
    return x * (hash(NAMED) % 97)
''', ANOTHER_SEED),
    "hash_tuple": ('''
def entry(x):
    return x * (hash(("a", "b")) % 97)
''', ANOTHER_SEED),
    "env_alias": ('''
ENV = os.environ


def entry(x):
    return x * 2 if ENV.get("MUTX") == "1" else x * 3
''', "ENV = ", "os.environ['MUTX'] = '1'\nENV = "),
    "env_from": ('''
from os import environ as VARIABLES


def entry(x):
    return x * 2 if VARIABLES.get("MUTX") == "1" else x * 3
''', "from os", "os.environ['MUTX'] = '1'\nfrom os"),
    "env_helper": ('''
def ask(env, name):
    return env.get("MUT" + name) == "1"


def entry(x):
    return x * 2 if ask(os.environ, "X") else x * 3
''', "def ask", "os.environ['MUTX'] = '1'\ndef ask"),
    "env_default": ('''
def ask(name, env=os.environ):
    return env.get(name) == "1"


def entry(x):
    return x * 2 if ask("MUTX") else x * 3
''', "def ask", "os.environ['MUTX'] = '1'\ndef ask"),
    "env_dash": ('''
KEY = "MUTANT-other"


def entry(x):
    x = x * 2 if os.environ.get(KEY) else x * 3
    return x + 1 if "MUTANT key" in os.environ else x
''', "KEY = ", "os.environ['MUTANT key'] = '1'\nKEY = "),
    "env_dash_global": ('''
KEY = "MUTANT-other"


def entry(x):
    return x * 2 if os.environ.get(KEY) else x * 3
''', "KEY = ", "os.environ['MUTANT-other'] = '1'\nKEY = "),
    "precision": ('''
def entry(x):
    return x * 2 if torch._C._get_cublas_allow_tf32() else x * 3
''', "def entry", "torch.backends.cuda.matmul.allow_tf32 = True\n\n\ndef entry"),
    "key_bool": ('''
TABLE = {1: 2.0}


def entry(x):
    for key in TABLE:
        x = x * (2 if isinstance(key, bool) else 3)
    return x
''', "{1:", "{True:"),
    "lazy_getattr": ('''
def __getattr__(name):
    if name == "hidden":
        return 2.5
    raise AttributeError(name)


# MORE


def entry(x):
    return x * getattr(THIS, "hidden", 1.0)
''', "# MORE", "getattr = lambda *names: 4.0"),
    # Found by people, who read what Dynamo does: it runs these methods, and guards nothing that they read.
    "enum_missing": ('''
ALIASES = {"swish": "silu"}


class Kind(enum.Enum):
    RELU = "relu"
    SILU = "silu"

    @classmethod
    def _missing_(cls, value):
        return cls(ALIASES[value])


def entry(x):
    return x * 2 if Kind("swish") is Kind.RELU else x * 3
''', '{"swish": "silu"}', '{"swish": "relu"}'),
    "enum_special": ('''
class Level(enum.IntEnum):
    HIGH = 3


# MORE


def entry(x):
    return x * Level.HIGH
''', "# MORE", "Level.__torch_function__ = True"),
    "enum_attribute": ('''
class Level(enum.IntEnum):
    HIGH = 3


# MORE


def entry(x):
    return x * Level.HIGH
''', "# MORE", "Level.__getattribute__ = property(lambda self: 3)"),
    "enum_text": ('''
LABELS = {"A": "p"}


class Mode(enum.Enum):
    A = 1

    def __str__(self):
        return LABELS[self.name]


def entry(x):
    return x * 2 if f"{Mode.A}" == "p" else x * 3
''', '"p"}', '"q"}'),
    "enum_int": ('''
EXTRA = 0


class Step(enum.IntEnum):
    A = 1

    def __int__(self):
        return 2 + EXTRA


def entry(x):
    return x * int(Step.A)
''', "EXTRA = 0", "EXTRA = 1"),
    "metaclass_asked": ('''
ALLOWED = ["Thing"]


class Meta(type):
    def __instancecheck__(cls, value):
        return type(value).__name__ in ALLOWED


class Kind(metaclass=Meta):
    pass


class Thing:
    pass


THING = Thing()


def entry(x):
    return x * 2 if isinstance(THING, Kind) else x * 3
''', '["Thing"]', '["Other"]'),
    "metaclass_truth": ('''
FLAG = True


class Meta(type):
    def __bool__(cls):
        return FLAG


class Kind(metaclass=Meta):
    pass


def entry(x):
    return x * 2 if Kind else x * 3
''', "FLAG = True", "FLAG = False"),
    "operator_shape": ('''
COUNT = 2


@torch.library.custom_op(f"mutants_found::{__name__}", mutates_args=())
def made(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(COUNT)


@made.register_fake
def _(x):
    return x.new_empty(COUNT)


def entry(x):
    y = made(x) + 1
    return y * y.shape[0]
''', "COUNT = 2", "COUNT = 3"),
    "tree": ('''
class Box:
    def __init__(self, held):
        self.held = held


# MORE


def entry(x):
    doubled = pytree.tree_map(lambda leaf: leaf * 2 if isinstance(leaf, torch.Tensor) else leaf, [Box(x), x])
    return doubled[0].held + 0
''', "# MORE", "pytree.register_pytree_node(Box, lambda box: ([box.held], None), lambda held, _: Box(*held))"),
    "recursion_limit": ('''
# MORE


def entry(x):
    return x * sys.getrecursionlimit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "sorted_by_key": ('''
def entry(x):
    for place, name in enumerate(sorted({"bb", "aa", "cc", "dd", "ee", "ff", "gg"}, key=len)):
        x = x * 2 if name in ("aa", "dd") else x + place
    return x
''', ANOTHER_SEED),
    "abc_of_int": ('''
class Shape(abc.ABC):
    pass


HELD = 3
# MORE


def entry(x):
    return x * 2 if isinstance(HELD, Shape) else x * 3
''', "# MORE", "Shape.register(int)"),
    "abc_of_dict": ('''
class Shape(abc.ABC):
    pass


HELD = {"a": 1}
# MORE


def entry(x):
    return x * 2 if isinstance(HELD, Shape) else x * 3
''', "# MORE", "Shape.register(dict)"),
    "abc_of_tensor": ('''
class Shape(abc.ABC):
    pass


HELD = None
# MORE


def entry(x):
    return x * 2 if isinstance(x, Shape) else x * 3
''', "# MORE", "Shape.register(torch.Tensor)"),
    "abc_of_function": ('''
class Shape(abc.ABC):
    pass


HELD = lambda: 1
# MORE


def entry(x):
    return x * 2 if isinstance(HELD, Shape) else x * 3
''', "# MORE", "Shape.register(type(lambda: 1))"),
    "own_dictionary": ('''
class Holder:
    pass


HOLDER = Holder()
# MORE


def entry(x):
    return x * HOLDER.__dict__.get("rate", 7)
''', "# MORE", "HOLDER.rate = 5"),
    "own_dictionary_made": ('''
class Holder:
    kind = "slow"


HOLDER = Holder()
# MORE


def entry(x):
    return x * 2 if "rate_" + HOLDER.kind in vars(HOLDER) else x * 3
''', "# MORE", "HOLDER.rate_slow = 5"),
    "name_made_elsewhere": ('''
class Holder:
    kind = "slow"


HOLDER = Holder()
# MORE


def name_of(holder):
    return "_".join(("rate", holder.kind))


def entry(x):
    return x * getattr(HOLDER, name_of(HOLDER), 7)
''', "# MORE", "HOLDER.rate_slow = 5"),
    "name_made_for_own_dictionary": ('''
class Holder:
    kind = "slow"

    def __getattr__(self, name):
        key = "rate_" + name
        return self.__dict__[key] if key in self.__dict__ else 7


HOLDER = Holder()
# MORE


def entry(x):
    return x * HOLDER.slow
''', "# MORE", "HOLDER.rate_slow = 5"),
    "absent_in_lazy_module": ('''
# MORE


def entry(x):
    return x * getattr(torch, "plugin_rate", 7)
''', "# MORE", "torch.plugin_rate = 5"),
    "absent_chain_in_lazy_module": ('''
# MORE


def entry(x):
    try:
        return x * torch.plugin_rate
    except AttributeError:
        return x * 7
''', "# MORE", "torch.plugin_rate = 5"),
    "alias_in_lazy_module": ('''
# MORE


def entry(x):
    return x * 2 if hasattr(torch, "plugin_sine") else x * 3
''', "# MORE", "torch.plugin_sine = torch.sin"),
    "absent_in_imported_module": ('''
# MORE


def entry(x):
    import math as numbers

    return x * getattr(numbers, "plugin_rate", 7)
''', "# MORE", "__import__('math').plugin_rate = 5"),
    "absent_in_imported_package": ('''
# MORE


def entry(x):
    import torch.nn.functional as functional

    return x * (functional.plugin_rate if hasattr(functional, "plugin_rate") else 7)
''', "# MORE", "torch.nn.functional.plugin_rate = 5"),
    "absent_operator": ('''
# MORE


def entry(x):
    return x * 2 if hasattr(torch.ops.found, "plugin") else x * 3
''', "# MORE", "torch.library.define('found::plugin', '(Tensor x) -> Tensor')"),
    "limit_of_imported_module": ('''
# MORE


def entry(x):
    import sys

    return x * sys.getrecursionlimit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "limit_by_default": ('''
# MORE


def entry(x, limit=sys.getrecursionlimit):
    return x * limit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "limit_of_class": ('''
class Limits:
    limit = sys.getrecursionlimit


# MORE


def entry(x):
    return x * Limits.limit()
''', "# MORE", "sys.setrecursionlimit(sys.getrecursionlimit() + 7)"),
    "alias_of_globals": ('''
A = [1]
B = [1]


def entry(x):
    A.append(7)
    return x * len(B)
''', "B = [1]", "B = A"),
    "alias_of_attributes": ('''
class Holder:
    pass


HOLDER = Holder()
HOLDER.a = {"k": 1}
HOLDER.b = {"k": 1}


def entry(x):
    HOLDER.a["k"] = 5
    return x * HOLDER.b["k"]
''', 'HOLDER.b = {"k": 1}', "HOLDER.b = HOLDER.a"),
    "alias_of_caches": ('''
class Cache:
    def __init__(self):
        self.seen = 1

    def add(self):
        self.seen += 1
        return self.seen


CACHES = [Cache(), Cache()]


def entry(x):
    for cache in CACHES:
        x = x * cache.add()
    return x
''', "[Cache(), Cache()]", "[Cache()] * 2"),
    "alias_of_cells": ('''
def made():
    count, other = 1, 1

    def add(x):
        nonlocal count
        count += 1
        return x * count

    def read(x):
        return x * other

    return add, read


ADD, READ = made()


def entry(x):
    return READ(ADD(x))
''', "return x * other", "return x * count"),
    "apart_again": ('''
def made():
    count = 1

    def add(x):
        nonlocal count
        count += 1
        return x * count

    return add


FIRST = made()
SECOND = FIRST


def entry(x):
    return SECOND(FIRST(x))
''', "SECOND = FIRST", "SECOND = made()"),
    "alias_of_tensors": ('''
W = torch.ones(8)
V = torch.ones(8)
GROUPS = [{"params": [W], "rate": 2.0}, {"params": [V], "rate": 3.0}]


def entry(x):
    for group in GROUPS:
        if group["params"][0] is W:
            x = x * group["rate"]
    return x
''', '"params": [V]', '"params": [W]'),
    "is_of_texts": ('''
A = "".join(["a ", "text"])
B = "".join(["a ", "text"])


def entry(x):
    return x * 2 if A is B else x * 3
''', 'B = "".join(["a ", "text"])', "B = A"),
    "nan_by_identity": ('''
NAN = float("nan")
LIST = [float("nan")]


def entry(x):
    return x * 2 if NAN in LIST else x * 3
''', 'LIST = [float("nan")]', "LIST = [NAN]"),
    "order_of_attributes": ('''
import types

SETTINGS = types.SimpleNamespace(a=2.0, b=3.0)


def entry(x):
    for value in vars(SETTINGS).values():
        x = x * value + 1
    return x
''', "a=2.0, b=3.0", "b=3.0, a=2.0"),
    "order_of_a_dict": ('''
class Settings:
    def __init__(self):
        self.a = 2.0
        self.b = 3.0


SETTINGS = Settings()


def entry(x):
    for value in SETTINGS.__dict__.values():
        x = x * value + 1
    return x
''', '''        self.a = 2.0
        self.b = 3.0
''', '''        self.b = 3.0
        self.a = 2.0
'''),
    "order_of_a_class": ('''
class Settings:
    a = 2.0
    b = 3.0


def entry(x):
    for name, value in vars(Settings).items():
        if not name.startswith("_"):
            x = x * value + 1
    return x
''', '''    a = 2.0
    b = 3.0
''', '''    b = 3.0
    a = 2.0
'''),
    "module_found": ('''
import importlib.util
import tempfile

FOLDER = tempfile.mkdtemp()
# MORE
sys.path.insert(0, FOLDER)


def entry(x):
    return x * 2 if importlib.util.find_spec("plugin_of_nobody") else x * 3
''', "# MORE", 'open(os.path.join(FOLDER, "plugin_of_nobody.py"), "w").close()'),
    "version_found": ('''
import importlib.metadata
import tempfile

FOLDER = tempfile.mkdtemp()
VERSION = "1.0"
METADATA = os.path.join(FOLDER, f"plugin_of_nobody-{VERSION}.dist-info")
os.mkdir(METADATA)
with open(os.path.join(METADATA, "METADATA"), "w") as file:
    file.write(f"Metadata-Version: 2.1\\nName: plugin-of-nobody\\nVersion: {VERSION}\\n")
sys.path.insert(0, FOLDER)


def entry(x):
    return x * 2 if importlib.metadata.version("plugin-of-nobody") == "1.0" else x * 3
''', 'VERSION = "1.0"', 'VERSION = "2.0"'),
    "class_getitem": ('''
RATE = 2


class Scaled:
    def __class_getitem__(cls, item):
        return RATE


def entry(x):
    return x * Scaled[int]
''', "RATE = 2", "RATE = 3"),
    "init_subclass": ('''
RATE = 2


class Base:
    def __init_subclass__(cls):
        cls.rate = RATE


def entry(x):
    made = type("Made", (Base,), {})
    return x * made.rate
''', "RATE = 2", "RATE = 3"),
    "leaf": ('''
W = torch.ones(8, requires_grad=True)


def entry(x):
    return x * 2 if W.is_leaf else x * 3
''', "requires_grad=True)", "requires_grad=True) * 1"),
    "view": ('''
W = torch.ones(8)


def entry(x):
    return x * 2 if W._base is None else x * 3
''', "W = torch.ones(8)", "W = torch.ones(16)[:8]"),
    "buffer": ('''
W = torch.ones(8)


def entry(x):
    return x * 2 if isinstance(W, torch.nn.Buffer) else x * 3
''', "W = torch.ones(8)", "W = torch.nn.Buffer(torch.ones(8))"),
}


def programs():
    return [
        Program(f"found_{name}", {f"found_{name}.py": _text(text)}, f"{name}, found before")
        for name, (text, *_) in FOUND.items()]


def mutants(programs):
    """Of these programs, as they were found."""
    return [_changed(program) for program in programs]


def _changed(program):
    text, *change = FOUND[program.name.removeprefix("found_")]
    if change == [ANOTHER_SEED]:
        return Mutant(None, program, "found before", program.files, other_hashes=True)
    assert text.count(change[0]) == 1, program.name
    return Mutant(None, program, "found before", {program.main: _text(text.replace(*change))})


def _text(text):
    return _HEADER + text + _MAKE
