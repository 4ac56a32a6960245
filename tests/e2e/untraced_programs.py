"""Programs each of which has a function that Dynamo, AOTAutograd or an operator may run in place of tracing it, and which alone
reads the global NUMBER; most results depend on it.
"""

HEAD = '''
import abc, collections, contextlib, copy, dataclasses, enum, functools, logging, math, random, re, sys, types, typing, weakref

import torch
import torch.utils._pytree as pytree
from torch import nn

NUMBER = 2.0
THIS = sys.modules[__name__]


class Thing:
    pass

BODY

def run(compile):
    torch.manual_seed(5)
    x = torch.randn(3, 8)
    compiled = compile(ENTRY)
    with torch.no_grad():
        return compiled(x).detach().clone()
'''
BEFORE, AFTER = "NUMBER = 2.0", "NUMBER = 3.0"
_IS_TWO = "x * 2 if {} else x * 3"
_UNLESS_TWO = 'if NUMBER != 2: raise AttributeError("gain")'


def _of_class(class_line, method, result, made=""):
    """A class with one method, what is made of it, and what an entry gives."""
    return f"{class_line}\n    ONE = 1\n    TWO = 2\n\n    {method}\n\n\n{made}\n\n\ndef ENTRY(x):\n    return {result}\n"


def _of_enum(method, result, bases="enum.Enum"):
    return _of_class(f"class Member({bases}):", method, result)


def _of_metaclass(method, result):
    made = "class Special(metaclass=Meta):\n    pass"
    return f"class Meta(type):\n    {method}\n\n\n{made}\n\n\ndef ENTRY(x):\n    return {result}\n"


def _of_constant(base, method, result, argument="1"):
    return f"class Special({base}):\n    {method}\n\n\nSPECIAL = Special({argument})\n\n\ndef ENTRY(x):\n    return {result}\n"


def _of_pair(method, result):
    """A namedtuple."""
    made = 'class Pair(collections.namedtuple("Pair", "a b")):'
    return f"{made}\n    {method}\n\n\nONE, TWO = Pair(1, 2), Pair(3, 4)\n\n\ndef ENTRY(x):\n    return {result}\n"


_PROTOCOL = '''
@typing.runtime_checkable
class HasGain(typing.Protocol):
    gain: float


'''


def _of_protocol(body, value):
    return f"{_PROTOCOL}{body}\n\n\ndef ENTRY(x):\n    return {_IS_TWO.format(f'isinstance({value}, HasGain)')}\n"


_GAIN = f"@property\n    def gain(self):\n        {_UNLESS_TWO}\n        return 1"
_TEXT = "def __format__(self, spec): return str(NUMBER)"

_ENUMERATIONS = {
    "format": _of_enum(_TEXT, 'x * float(f"{Member.ONE}")'),
    "str": _of_enum("def __str__(self): return str(NUMBER)", 'x * float("%s" % Member.ONE)'),
    "str_of_a_text": _of_enum("def __str__(self): return str(NUMBER)", 'x * float(f"{Member.ONE}")', "str, enum.Enum"),
    "repr": _of_enum("def __repr__(self): return str(NUMBER)", "x * len(str([Member.ONE]))"),
    "bool": _of_enum("def __bool__(self): return NUMBER == 2", _IS_TWO.format("Member.ONE")),
    "lt": _of_enum(
        "def __lt__(self, other): return NUMBER == 2", _IS_TWO.format("sorted([Member.ONE, Member.TWO])[0] is Member.ONE")),
    "gt": _of_enum(
        "def __gt__(self, other): return NUMBER == 2", _IS_TWO.format("max(Member.ONE, Member.TWO) is Member.ONE")),
    "radd": _of_enum("def __radd__(self, other): return NUMBER", "x * (1 + Member.ONE)"),
    "rmul": _of_enum("def __rmul__(self, other): return other * NUMBER", "x * Member.ONE"),
    "dir": _of_enum('def __dir__(self): return ["a"] * int(NUMBER)', "x * len(dir(Member.ONE))"),
    "missing": _of_enum(
        "@classmethod\n    def _missing_(cls, value): return cls.ONE if NUMBER == 2 else cls.TWO", "x * Member(7).value"),
    "getattribute": _of_enum(
        'def __getattribute__(self, name): return NUMBER if name == "other" else super().__getattribute__(name)',
        "x * Member.ONE.other"),
    "property": _of_enum("@property\n    def gain(self): return NUMBER", "x * Member.ONE.gain"),
    "asked_property": _of_enum(_GAIN, _IS_TWO.format('hasattr(Member.ONE, "gain")')),
    "text_by_a_property": _of_enum(
        "@property\n    def gain(self): return NUMBER\n    def __format__(self, spec): return str(self.gain)",
        'x * float(f"{Member.ONE}")'),
    "lambda": "class Member(enum.Enum):\n    ONE = 1\n\n\nMember.__format__ = lambda self, spec: str(NUMBER)\n\n\n"
              'def ENTRY(x):\n    return x * float(f"{Member.ONE}")\n',
    "in_a_container": _of_enum(_TEXT, """x * float(f"{TABLE['a'][0]}")""").replace(
        "def ENTRY", 'TABLE = {"a": [Member.ONE]}\n\n\ndef ENTRY'),
    "default": _of_enum(_TEXT, 'x * float(f"{member}")').replace("def ENTRY(x)", "def ENTRY(x, member=Member.ONE)"),
    "wrapped": '''
def twice(function):
    @functools.wraps(function)
    def inner(*arguments):
        return str(float(function(*arguments)) * NUMBER)

    return inner

''' + _of_enum('@twice\n    def __format__(self, spec): return "1"', 'x * float(f"{Member.ONE}")'),
    "by_an_object": '''
class Caller:
    def __call__(self):
        return NUMBER


CALLER = Caller()

''' + _of_enum("def __format__(self, spec): return str(CALLER())", 'x * float(f"{Member.ONE}")'),
    "mixin": "class Mixin:\n    def __format__(self, spec): return str(NUMBER)\n\n\n" + _of_enum(
        "pass", 'x * float(f"{Member.ONE}")', "Mixin, enum.Enum"),
    "without_a_file": _of_enum("pass", 'x * float(f"{Member.ONE}")').replace(
        "def ENTRY",
        'exec("def made(self, spec): return str(NUMBER)")\nMember.__format__ = made\n\n\ndef ENTRY'),
    "value": '''
class Value:
    def __repr__(self):
        return "a" * int(NUMBER)


class Member(enum.Enum):
    ONE = Value()


def ENTRY(x):
    return x * len("%r" % Member.ONE)
''',
    "property_by_text": _of_enum("@property\n    def gain(self): return NUMBER", 'x * float("{0.gain}".format(Member.ONE))'),
    "init_of_a_class_made": _of_enum(
        "def __init__(self, value): self.gain = NUMBER", 'x * Member("Made", {"A": 1}).A.gain').replace(
            "    ONE = 1\n    TWO = 2\n", ""),
    "descriptor": '''
class Part:
    def __get__(self, instance, owner):
        return functools.partial(str, NUMBER)

    def __call__(self):
        return "5"

''' + _of_enum("pass", 'x * float(f"{Member.ONE}"[0])').replace(
        "def ENTRY", "Member.__format__ = lambda self, spec: self.text()\nMember.text = Part()\n\n\ndef ENTRY"),
    "special_descriptor": '''
class Part:
    def __get__(self, instance, owner):
        return lambda spec="": str(NUMBER)

    def __call__(self, spec=""):
        return "5"

''' + _of_enum("pass", 'x * float(f"{Member.ONE}")').replace("def ENTRY", "Member.__format__ = Part()\n\n\ndef ENTRY"),
}

_METACLASSES = {
    "instancecheck": _of_metaclass(
        "def __instancecheck__(cls, value): return NUMBER == 2", _IS_TWO.format("isinstance(5, Special)")),
    "instancecheck_in_a_tuple": _of_metaclass(
        "def __instancecheck__(cls, value): return NUMBER == 2", _IS_TWO.format("isinstance(5, (str, Special))")),
    "instancecheck_in_a_pattern": _of_metaclass("def __instancecheck__(cls, value): return NUMBER == 2", "x").replace(
        "    return x\n", "    match 5:\n        case Special():\n            return x * 2\n    return x * 3\n"),
    "subclasscheck": _of_metaclass(
        "def __subclasscheck__(cls, value): return NUMBER == 2", _IS_TWO.format("issubclass(int, Special)")),
    "bool": _of_metaclass("def __bool__(cls): return NUMBER == 2", _IS_TWO.format("Special")),
    "format": _of_metaclass("def __format__(cls, spec): return str(NUMBER)", 'x * float(f"{Special}")'),
    "repr": _of_metaclass('def __repr__(cls): return "a" * int(NUMBER)', "x * len(str([Special]))"),
    "getitem": _of_metaclass("def __getitem__(cls, key): return NUMBER", "x * Special[0]"),
    "or": _of_metaclass("def __or__(cls, other): return NUMBER", "x * (Special | int)"),
    "add": _of_metaclass("def __add__(cls, other): return NUMBER", "x * (Special + 1)"),
    "getattr": _of_metaclass(
        f"def __getattr__(cls, name):\n        {_UNLESS_TWO}\n        return 1", _IS_TWO.format('hasattr(Special, "gain")')),
    "getattribute": _of_metaclass(
        'def __getattribute__(cls, name): return NUMBER if name == "other" else type.__getattribute__(cls, name)',
        "x * Special.other"),
    "property": _of_metaclass("@property\n    def gain(cls): return NUMBER", "x * Special.gain"),
}

_CONSTANTS = {
    "format": _of_constant("int", _TEXT, 'x * float(f"{SPECIAL}")'),
    "bool": _of_constant("int", "def __bool__(self): return NUMBER == 2", _IS_TWO.format("SPECIAL")),
    "bool_in_filter": _of_constant(
        "int", "def __bool__(self): return NUMBER == 2", "x * (len(list(filter(None, [SPECIAL]))) + 1)"),
    "eq": _of_constant("int", "def __eq__(self, other): return NUMBER == 2", _IS_TWO.format("SPECIAL == 7")),
    "eq_in_a_tuple": _of_constant("int", "def __eq__(self, other): return NUMBER == 2", _IS_TWO.format("SPECIAL in (5, 6)")),
    "eq_when_counted": _of_constant(
        "int", "def __eq__(self, other): return NUMBER == 2", "x * ((SPECIAL, SPECIAL).count(9) + 1)"),
    "lt": _of_constant("int", "def __lt__(self, other): return NUMBER == 2", _IS_TWO.format("SPECIAL < SPECIAL")),
    "int": _of_constant("int", "def __int__(self): return int(NUMBER)", "x * int(SPECIAL)"),
    "radd": _of_constant("int", "def __radd__(self, other): return NUMBER", "x * sum([SPECIAL])"),
    "float": _of_constant("float", "def __float__(self): return NUMBER", "x * float(SPECIAL)"),
    "ceil": _of_constant("float", "def __ceil__(self): return int(NUMBER)", "x * math.ceil(SPECIAL)"),
    "text": _of_constant("str", "def __str__(self): return str(NUMBER)", 'x * float("%s" % SPECIAL)'),
    "text_format": _of_constant("str", _TEXT, 'x * float(f"{SPECIAL}")'),
    "text_iter": _of_constant("str", "def __iter__(self): return iter([NUMBER])", "x * sum(SPECIAL)"),
    "method": _of_constant("int", "def gain(self): return NUMBER", "x * SPECIAL.gain()"),
    "made": _of_constant("int", "def __bool__(self): return NUMBER == 2", _IS_TWO.format("Special(1)")),
    "mixin": "class Mixin:\n    def __bool__(self): return NUMBER == 2\n\n\n" + _of_constant(
        "Mixin, int", "pass", _IS_TWO.format("SPECIAL")),
    "special_descriptor": '''
class Part:
    def __get__(self, instance, owner):
        return lambda: NUMBER == 2

''' + _of_constant("int", "__bool__ = Part()", _IS_TWO.format("SPECIAL")),
}

_PAIRS = {
    "lt": _of_pair("def __lt__(self, other): return NUMBER == 2", "x * sorted([ONE, TWO])[0].a"),
    "gt": _of_pair("def __gt__(self, other): return NUMBER == 2", "x * max(ONE, TWO).a"),
    "bool": _of_pair("def __bool__(self): return NUMBER == 2", _IS_TWO.format("ONE")),
    "format": _of_pair(_TEXT, 'x * float(f"{ONE}")'),
    "eq": _of_pair("def __eq__(self, other): return NUMBER == 2", _IS_TWO.format("ONE == (3, 4)")),
    "property": _of_pair("@property\n    def gain(self): return NUMBER", "x * ONE.gain"),
    "property_by_text": _of_pair("@property\n    def gain(self): return NUMBER", 'x * float("{0.gain}".format(ONE))'),
}

_PROTOCOLS = {
    "property": _of_protocol(f"class Plain:\n    {_GAIN}\n\n\nPLAIN = Plain()", "PLAIN"),
    "property_of_an_object_made": _of_protocol(f"class Plain:\n    {_GAIN}", "Plain()"),
    "property_of_a_member": _of_protocol(f"class Member(enum.Enum):\n    ONE = 1\n\n    {_GAIN}", "Member.ONE"),
    "property_of_a_class": _of_protocol(
        f"class Meta(type):\n    {_GAIN}\n\n\nclass Special(metaclass=Meta):\n    pass", "Special"),
    "property_of_a_number": _of_protocol(f"class Count(int):\n    {_GAIN}\n\n\nCOUNT = Count(1)", "COUNT"),
    "descriptor": _of_protocol(
        f"class Part:\n    def __get__(self, instance, owner):\n        {_UNLESS_TWO}\n        return 1\n\n\n"
        "class Plain:\n    gain = Part()\n\n\nPLAIN = Plain()", "PLAIN"),
    "getattr": _of_protocol(
        f"class Plain:\n    def __getattr__(self, name):\n        {_UNLESS_TWO}\n        return 1\n\n\nPLAIN = Plain()",
        "PLAIN"),
    "getattr_for_a_method": _of_protocol(
        f"class Plain:\n    def __getattr__(self, name):\n        {_UNLESS_TWO}\n        return abs\n\n\nPLAIN = Plain()",
        "PLAIN").replace("    gain: float\n", "    def gain(self): ...\n"),
    "getattr_of_a_module": _of_protocol(
        "class Net(nn.Module):\n    def __getattr__(self, name):\n"
        "        if name == 'gain' and NUMBER == 2:\n            return 1\n        return super().__getattr__(name)\n\n\nNET = Net()", "NET"),
    "answer_of_a_python_module": _of_protocol(
        "def __getattr__(name):\n    if name == 'gain' and NUMBER == 2:\n        return 1\n    raise AttributeError(name)",
        "THIS"),
}

_MODULE_ANSWER = (
    "def __getattr__(name):\n    if name == 'other' and NUMBER != 2:\n        return 1.5\n    raise AttributeError(name)\n")

_ABSTRACT = '''
class Shape(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return NUMBER == 2


THING = Thing()
'''

_ANSWERS = {
    "value_of_a_python_module":
        "def __getattr__(name):\n    return NUMBER\n\n\ndef ENTRY(x):\n    return x * THIS.other\n",
    "asked_python_module": f"{_MODULE_ANSWER}\n\ndef ENTRY(x):\n    return {_IS_TWO.format('hasattr(THIS, %r)' % 'other')}\n",
    "default_of_a_python_module":
        _MODULE_ANSWER + '\n\ndef ENTRY(x):\n    return x * getattr(THIS, "other", 5.0)\n',
    "dir_of_a_python_module":
        'def __dir__():\n    return ["a"] * int(NUMBER)\n\n\ndef ENTRY(x):\n    return x * len(dir(THIS))\n',
    "class_of_a_python_module": '''
class Special(types.ModuleType):
    @property
    def gain(self):
        return NUMBER


THIS.__class__ = Special


def ENTRY(x):
    return x * THIS.gain
''',
    "asked_object": f'''
class Plain:
    def __getattr__(self, name):
        {_UNLESS_TWO}
        return 1


PLAIN = Plain()


def ENTRY(x):
    return {_IS_TWO.format('hasattr(PLAIN, "gain")')}
''',
    "asked_descriptor_of_a_class": f'''
class Part:
    def __get__(self, instance, owner):
        {_UNLESS_TWO}
        return 1


class Plain:
    gain = Part()


def ENTRY(x):
    return {_IS_TWO.format('hasattr(Plain, "gain")')}
''',
    "class_that_an_object_says": f'''
class Shape(abc.ABC):
    pass


class Round(Shape):
    pass


class Plain:
    def __getattribute__(self, name):
        return Round if name == "__class__" and NUMBER == 2 else object.__getattribute__(self, name)


PLAIN = Plain()


def ENTRY(x):
    return {_IS_TWO.format("isinstance(PLAIN, Shape)")}
''',
    "subclasshook": f"{_ABSTRACT}\n\ndef ENTRY(x):\n    return {_IS_TWO.format('isinstance(THING, Shape)')}\n",
    "subclasshook_of_a_class": f"{_ABSTRACT}\n\ndef ENTRY(x):\n    return {_IS_TWO.format('issubclass(Thing, Shape)')}\n",
    "subclasshook_of_a_tensor": f"{_ABSTRACT}\n\ndef ENTRY(x):\n    return {_IS_TWO.format('isinstance(x, Shape)')}\n",
    "class_getitem": '''
class Special:
    def __class_getitem__(cls, key):
        return NUMBER


def ENTRY(x):
    return x * Special[int]
''',
    "init_subclass": '''
class Base:
    def __init_subclass__(cls):
        cls.gain = NUMBER


def ENTRY(x):
    return x * type("Made", (Base,), {}).gain
''',
}

_OPERATOR = '''
@torch.library.custom_op(f"untraced::{__name__}", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


'''

_FUNCTIONS = {
    "constant": '''
@torch._dynamo.assume_constant_result
def gain():
    return NUMBER


def ENTRY(x):
    return x * gain()
''',
    "constant_method": '''
class Net(nn.Module):
    @torch._dynamo.assume_constant_result
    def gain(self):
        return NUMBER

    def forward(self, x):
        return x * self.gain()


ENTRY = Net()
''',
    "in_graph": '''
def gain():
    return NUMBER


@torch._dynamo.allow_in_graph
def ENTRY_IN_GRAPH(x):
    return x * gain()


def ENTRY(x):
    return ENTRY_IN_GRAPH(x)
''',
    "nonstrict": '''
@torch._dynamo.nonstrict_trace
def scaled(x):
    return x * NUMBER


def ENTRY(x):
    return scaled(x)
''',
    "nonstrict_argument": '''
class Pair:
    def __init__(self, a):
        self.a = a


pytree.register_pytree_node(
    Pair, lambda pair: ([pair.a], None), lambda items, context: Pair(*items), serialized_type_name=f"{__name__}.Pair")


@torch._dynamo.nonstrict_trace
def scaled(pair):
    return pair.a * NUMBER


def ENTRY(x):
    return scaled(Pair(x))
''',
    "nonstrict_inside": '''
def scaled(x):
    return x * NUMBER


def ENTRY(x):
    return torch._dynamo.nonstrict_trace(scaled)(x)
''',
    "of_a_pattern": '''
def gain():
    return NUMBER


def text(match):
    return str(gain())


def ENTRY(x):
    return x * float(re.sub("a", text, "a"))
''',
    "of_a_pattern_without_a_name": '''
def ENTRY(x):
    return x * float(re.sub("a", lambda match: str(NUMBER), "a"))
''',
    "of_items": '''
from torch.fx.node import map_aggregate


def scaled(value):
    return value * NUMBER


def ENTRY(x):
    return x * map_aggregate((1.0,), scaled)[0]
''',
    "leaf": '''
from torch._dynamo.decorators import leaf_function


@leaf_function
def scaled(x):
    return (x * 2,)


@scaled.register_fake
def _(x):
    return (torch.empty_like(x) if NUMBER else x,)


def ENTRY(x):
    return scaled(x)[0]
''',
    "substituted": '''
def original(value):
    return value * NUMBER


@torch.compiler.substitute_in_graph(original, can_constant_fold_through=True)
def substitute(value):
    return value * 5


def ENTRY(x):
    return x * original(1.0)
''',
    "at_compile_time": '''
from torch._dynamo.comptime import comptime

SEEN = []


def look(context):
    SEEN.append(NUMBER)


def ENTRY(x):
    comptime(look)
    return x * 2
''',
    "contexts_of_a_checkpoint": '''
from torch.utils import checkpoint


def policy(context, operator, *arguments, **keywords):
    return checkpoint.CheckpointPolicy.MUST_SAVE


def contexts():
    SEEN.append(NUMBER)
    return checkpoint.create_selective_checkpoint_contexts(policy)


SEEN = []


def part(x):
    return torch.sin(x) * 2


def ENTRY(x):
    return checkpoint.checkpoint(part, x, use_reentrant=False, context_fn=contexts)
''',
    "gradient_in_graph": '''
@torch._dynamo.allow_in_graph
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * NUMBER

    @staticmethod
    def backward(context, gradient):
        return gradient


def ENTRY(x):
    return Scale.apply(x)
''',
    "gradient": '''
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * NUMBER

    @staticmethod
    def backward(context, gradient):
        return gradient


def ENTRY(x):
    return Scale.apply(x)
''',
    "fake": _OPERATOR + '''
@scaled.register_fake
def _(x):
    return torch.empty_like(x) if NUMBER else x


def ENTRY(x):
    return scaled(x) + 1
''',
    "vmap": _OPERATOR + '''
@scaled.register_fake
def _(x):
    return torch.empty_like(x)


@scaled.register_vmap
def _(info, dimensions, x):
    return scaled(x) * NUMBER, dimensions[0]


def ENTRY(x):
    return torch.vmap(scaled)(x)
''',
    "backward": _OPERATOR + '''
@scaled.register_fake
def _(x):
    return torch.empty_like(x)


def setup(ctx, inputs, output):
    ctx.gain = NUMBER


scaled.register_autograd(lambda ctx, gradient: gradient * ctx.gain, setup_context=setup)
WEIGHT = torch.ones(3, 8, requires_grad=True)


def ENTRY(x):
    with torch.enable_grad():
        return torch.autograd.grad(scaled(WEIGHT * x).sum(), WEIGHT)[0]
''',
    "composition": '''
LIBRARY = torch.library.Library("untraced", "FRAGMENT")
LIBRARY.define(f"{__name__}(Tensor x) -> Tensor")
LIBRARY.impl(__name__, lambda x: x * NUMBER, "CompositeImplicitAutograd")
SCALED = getattr(torch.ops.untraced, __name__)


def ENTRY(x):
    return SCALED(x)
''',
    "kernel_of_shapes": '''
LIBRARY = torch.library.Library("untraced", "FRAGMENT")
LIBRARY.define(f"{__name__}(Tensor x) -> Tensor")
LIBRARY.impl(__name__, lambda x: x * 2, "CPU")
LIBRARY.impl(__name__, lambda x: torch.empty_like(x) if NUMBER else x, "Meta")
SCALED = getattr(torch.ops.untraced, __name__)


def ENTRY(x):
    return SCALED(x)
''',
}

_TENSOR = '''
class Mine(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Mine(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        inner = pytree.tree_map_only(Mine, lambda each: each.inner, arguments)
        return Mine(function(*inner, **(keywords or {})) * NUMBER)


'''

_OBJECTS = {
    "tensor": f"{_TENSOR}MINE = Mine(torch.ones(3, 8))\n\n\ndef ENTRY(x):\n    return torch.sin(MINE).inner + x\n",
    "tensor_made": f"{_TENSOR}def ENTRY(x):\n    return torch.sin(Mine(x)).inner\n",
    "opaque_made": '''
from torch._library import opaque_object


class Gain:
    def __init__(self, value):
        self.value = value * NUMBER

    def __eq__(self, other):
        return isinstance(other, Gain) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __fx_repr__(self):
        return f"Gain({self.value!r})", {"Gain": Gain}


opaque_object.register_opaque_type(Gain, typ="value", members={"value": opaque_object.MemberType.USE_REAL})


def ENTRY(x):
    return x * Gain(1.0).value
''',
    "registered_constant": '''
class Special:
    def __bool__(self):
        return NUMBER == 2

    def __eq__(self, other):
        return type(other) is Special

    def __hash__(self):
        return 7


pytree.register_constant(Special)
SPECIAL = Special()


def ENTRY(x):
    return x * 2 if SPECIAL else x * 3
''',
    "frozen": '''
@dataclasses.dataclass(frozen=True)
class Options:
    gain: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "gain", NUMBER)


def ENTRY(x):
    return x * Options().gain
''',
    "key": '''
class Key:
    def __eq__(self, other):
        return NUMBER == 2

    def __hash__(self):
        return 7


KEY = Key()


def ENTRY(x):
    return x * {Key(): 2.0}.get(KEY, 5.0)
''',
    "length": '''
class Items(list):
    def __len__(self):
        return int(NUMBER)


ITEMS = Items([1.0, 2.0])


def ENTRY(x):
    return x * len(ITEMS)
''',
    "text": '''
class Plain:
    def __str__(self):
        return str(NUMBER)


PLAIN = Plain()


def ENTRY(x):
    return x * float("%s" % PLAIN)
''',
    "copy": '''
class Plain:
    def __deepcopy__(self, memo):
        return NUMBER


PLAIN = Plain()


def ENTRY(x):
    return x * copy.deepcopy(PLAIN)
''',
    "missing_key": '''
class Table(dict):
    def __missing__(self, key):
        return NUMBER


TABLE = Table()


def ENTRY(x):
    return x * TABLE["a"]
''',
    "sort_key": '''
def key(value):
    return value if NUMBER == 2 else -value


def ENTRY(x):
    return x * sorted([1.0, 2.0, 3.0], key=key)[0]
''',
    "cached": '''
@functools.cache
def gain(count):
    return count * NUMBER


def ENTRY(x):
    return x * gain(3)
''',
    "dispatched": '''
@functools.singledispatch
def gain(value):
    return NUMBER


def ENTRY(x):
    return x * gain(3)
''',
    "context": '''
@contextlib.contextmanager
def scaled():
    yield NUMBER


def ENTRY(x):
    with scaled() as gain:
        return x * gain
''',
    "reference": '''
class Reference(weakref.ref):
    def __call__(self):
        return NUMBER


THING = Thing()
REFERENCE = Reference(THING)


def ENTRY(x):
    return x * REFERENCE()
''',
    "random": '''
class Draws(random.Random):
    def random(self):
        return NUMBER


DRAWS = Draws(3)


def ENTRY(x):
    return x * DRAWS.random()
''',
    "log": '''
class Loud(logging.Logger):
    def isEnabledFor(self, level):
        return NUMBER == 2


LOUD = Loud("a")


def ENTRY(x):
    return x * 2 if LOUD.isEnabledFor(10) else x * 3
''',
    "hook": '''
class Part(nn.Module):
    def forward(self, x):
        return x * 1


def hook(module, arguments, result):
    return result * NUMBER


ENTRY = Part()
ENTRY.register_forward_hook(hook)
''',
    "branch": '''
def ENTRY(x):
    return torch.cond(x.sum() > -1e9, lambda x: x * NUMBER, lambda x: x * 5, (x,))
''',
    "flattened": '''
class Pair:
    def __init__(self, a, gain):
        self.a, self.gain = a, gain


def flatten(pair):
    return [pair.a], NUMBER


pytree.register_pytree_node(
    Pair, flatten, lambda items, context: Pair(*items, context), serialized_type_name=f"{__name__}.Pair")


def ENTRY(x):
    return pytree.tree_map(lambda each: each, Pair(x, 1.0)).gain * x
''',
}

PROGRAMS = {
    f"{group}_{name}": body
    for group, bodies in {
        "enum": _ENUMERATIONS, "metaclass": _METACLASSES, "constant": _CONSTANTS, "pair": _PAIRS, "protocol": _PROTOCOLS,
        "answer": _ANSWERS, "function": _FUNCTIONS, "object": _OBJECTS}.items()
    for name, body in bodies.items()}

def rows(names=PROGRAMS):
    """(name, the program of the first process, that of the second)"""
    for name in names:
        text = HEAD.replace("BODY", PROGRAMS[name])
        yield name, text, text.replace(BEFORE, AFTER)
