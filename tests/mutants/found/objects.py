"""Objects: which are one, in which order they lie, what tensors and operators are. Name: (program, old text, new text)."""

FOUND = {
    "key_bool": ('''
TABLE = {1: 2.0}


def entry(x):
    for key in TABLE:
        x = x * (2 if isinstance(key, bool) else 3)
    return x
''', "{1:", "{True:"),
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
