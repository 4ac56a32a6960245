"""Classes: abstract ones, metaclasses, enumerations, what Python runs by itself. Name: (program, old text, new text)."""

FOUND = {
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
}
