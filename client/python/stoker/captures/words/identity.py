"""What functions, classes, modules and builtins ARE, in words that hold in another process.

A function is its import path and the digest of its code, defaults and closure; a class its import path and
the digest of every function that it and its bases define. Of a capture, plain data belongs to both, under the
names that its code may read (reads.py). File names do not count, nor do line numbers, but where code
asks for them: moving code changes nothing.
"""

import abc
import enum
import functools
import sys
import types
from typing import NamedTuple


from ...base.signals import let_through
from ...pytorch.marks import LEFT_ON_FUNCTIONS, REPLACED, counts_as_constant
from ...pytorch.operators import OpOverload, OpOverloadPacket
from ..bytecode.reads import ALL
from .digests import code_digest, digest_of
from .held import HEAPTYPE, MATCHED, held, module_of_class
from .generated import is_field
from .installed import is_installed, is_installed_function, is_installed_module, module_with
from .orders import order_words
from .plain_data import PlainData, own_attributes, slots_of, undecorated
from .process import is_run_for_its_result
from .unread import askable
from .values import NotPortable, encode, look_up

_MAX_DEPTH = 24  # Of closures in closures.
_BUILTINS = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodWrapperType)
_lru_cache_wrapper = type(functools.lru_cache(lambda: None))
_CODE_LIKE = (
    types.FunctionType, types.CodeType, types.MethodType, staticmethod, classmethod, property, functools.partial,
    functools.partialmethod, functools.cached_property, _lru_cache_wrapper, OpOverload, OpOverloadPacket)
_NAMED = (types.FunctionType, types.MethodType, types.WrapperDescriptorType, types.MethodWrapperType, staticmethod, classmethod)
_HAVE_CODE = (*_BUILTINS, *_CODE_LIKE)
# Metaclasses that belong to Python.
_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)

# Of a class, what Python itself keeps there, or what follows from the rest.
_KEPT_BY_PYTHON = frozenset((
    "__dict__", "__weakref__", "__module__", "__qualname__", "_abc_impl", "__firstlineno__",
    "__static_attributes__", "__abstractmethods__", "__annotations_cache__", "__classdictcell__"))
# What operations read that do not name it, besides special methods,
_READ_UNNAMED = frozenset(("_fields", "_field_defaults"))
# and what has such a name, and is read under it alone.
_READ_BY_NAME = frozenset((
    "__doc__", "__annotations__", "__orig_bases__", "__parameters__", "__type_params__", "__dataclass_fields__",
    "__dataclass_params__"))
# Of a member, what enumerations keep there.
OF_MEMBERS = frozenset((
    "_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_", "_hashable_values_", "_unhashable_values_"))
# Of a class of them: the rest of what it holds says the same.
KEPT_BY_ENUMERATIONS = frozenset(f"_{name}_" for name in """
    member_names member_map value2member_map member_type value_repr use_args boundary flag_mask singles_mask all_bits inverted
    unhashable_values hashable_values unhashable_values_map new_member ignore order sort_order generate_next_value""".split())
# Of a class, from CPython 3.14 on: a function, where earlier versions have plain data.
_ANNOTATE = frozenset(("__annotate__", "__annotate_func__"))


class _Own(NamedTuple):
    """What a class defines itself."""

    digest: str  # Of what decides how its attributes behave.
    data: tuple  # Names of its plain data.
    is_fixed: bool  # Is the digest the same whichever names are read?


class Describer:
    """Describes objects; remembers what it has seen for as long as it lives, and which code it covered."""

    def __init__(self, names=frozenset(), plain=None, enumerates=False, orders=False, lines=False):
        """`names`: attributes that may be read of classes and functions, or ALL; none: without plain data.
        `enumerates`: whether code may go through the attributes of something, in their order;
        `orders`: whether it may let out the order of a set; `lines`: whether it may ask where code stands in its file.
        `plain`: a Describer without names and of this very moment, whose digests hold here where no name changes
        them. What they cover and refer to is not known then."""
        self._names = names
        self.called = ALL  # Without `names`: those of the functions of classes that count.
        self.enumerates, self.orders, self.lines = enumerates, orders, lines
        self._reads_documentation = self.reads("__doc__")
        if self._reads_documentation or enumerates or orders or lines:  # Which digests without names leave out.
            plain = None
        self._functions = {} if plain is None else dict(plain._fixed)  # id -> (function, digest)
        self._fixed = {}  # Those of them that are the same whichever names are read.
        self._owns = {} if plain is None else {cls: own for cls, own in plain._owns.items() if own.is_fixed}
        self._data = {}  # Class -> lines of its own plain data.
        self._classes = {}
        self._modules = {}  # id of globals -> (globals, name of the module that has them)
        self._patches = {}  # Metaclass -> lines of what a program put into it.
        self._slots = {}  # Class -> what slots_of says.
        self._variable = 0  # How often a description depended on the names, or on what is being described.
        self._open = set()  # Ids of functions, and of owners of methods, being described: they may contain each other.
        self.covered = {}  # id of a code object that a digest contains -> the object
        self.of_process = set()  # Names of functions that tell of this process, in classes, defaults and cells.
        self.referred = {}  # Path -> class, of those that stand in plain data or in closures.

    def reads(self, name):
        return self._names is ALL or name in self._names

    @property
    def _with_data(self):
        return self._names is ALL or bool(self._names)

    def __call__(self, value):
        """A JSON description; NotPortable if there is none. Equal descriptions: the same thing."""
        if value is None or type(value) in (bool, str):  # Most defaults.
            return ["value", value]
        if isinstance(value, types.ModuleType):
            return _module_words(value)
        if isinstance(value, type):
            return ["class", *self.class_words(value)]
        if isinstance(value, types.FunctionType):
            if "__hash__" in (value.__name__, value.__code__.co_name):  # In a table, say: who calls it there is given a hash.
                self._tells(hash)
            if counts_as_constant(value):  # Its calls and their results are premises of their own.
                return ["constant function", _path(value), self.function_digest(value)]
            value = undecorated(value)
            if isinstance(value, types.MethodType):
                return self(value)
            return ["function", _path(value), self.function_digest(value)]
        if isinstance(value, types.CodeType):
            self._cover(value)
            return ["code", self.code_digest(value)]
        if isinstance(value, _BUILTINS):
            return ["builtin", type(value).__name__, _path(value), self._owner(value)]
        if isinstance(value, types.MethodType):
            return ["method", self(value.__func__), self._owner(value)]
        if isinstance(value, (staticmethod, classmethod, _lru_cache_wrapper)):
            return [type(value).__name__, self(value.__wrapped__)]
        if isinstance(value, functools.partial):
            return [
                "partial", self(value.func), [self._part(part) for part in value.args],
                [[name, self._part(part)] for name, part in sorted(value.keywords.items())]]
        if isinstance(value, property):
            return ["property", self._member(value)]
        if isinstance(value, functools.partialmethod):
            return ["partialmethod", self(functools.partial(value.func, *value.args, **value.keywords))]
        if isinstance(value, functools.cached_property):
            return ["cached property", self(value.func)]
        if isinstance(value, OpOverloadPacket):
            return ["operator", str(value)]
        return ["value", encode(value), *(order_words(value) if self.orders else ())]

    def code_digest(self, code):
        return code_digest(code, self.orders, self.lines)

    def slots_of(self, cls):
        if cls not in self._slots:
            self._slots[cls] = slots_of(cls)
        return self._slots[cls]

    def function_digest(self, function):
        known = self._functions.get(id(function))
        if known is not None:
            return known[1]
        if id(function) in self._open or len(self._open) > _MAX_DEPTH:
            self._variable += 1
            return self.code_digest(function.__code__)
        variable = self._variable
        self._open.add(id(function))
        try:
            code, defaults, keywords = function.__code__, function.__defaults__, function.__kwdefaults__  # Audit hooks see each.
            self._cover(code)
            digest = f"{self.code_digest(code)} {self._module_of(function)}"
            own = list(self._own_data(function)) if self._reads_documentation or function.__dict__ else ()
            if defaults or keywords or function.__closure__ or own:
                digest = digest_of(
                    digest,
                    repr([self._part(value) for value in defaults or ()]),
                    repr([(name, self._part(value)) for name, value in sorted((keywords or {}).items())]),
                    repr([self._cell(cell) for cell in function.__closure__ or ()]),
                    *own)
        finally:
            self._open.discard(id(function))
        self._functions[id(function)] = (function, digest)
        if self._variable == variable:
            self._fixed[id(function)] = (function, digest)
        return digest

    def _module_of(self, function):
        """The name of the module whose globals a function reads; "" where these are no module's that others find: one that
        was executed anew under its old name, and generated code."""
        read = function.__globals__
        if id(read) not in self._modules:
            self._modules[id(read)] = read, "" if module_with(read) is None else read["__name__"]
        return self._modules[id(read)][1]

    @staticmethod
    def is_code(value):
        """Is it something that __call__ describes by its code?"""
        return isinstance(value, _HAVE_CODE)

    def refer_to(self, cls):
        """The path of a class, whose digest then belongs to `referred`."""
        path = _path(cls)
        cls = _with_slots(cls, path)
        if self._with_data and cls.__flags__ & HEAPTYPE and path not in self.referred:
            if is_installed(cls) and look_up(path) is not cls:  # A package's attribute may hold one of these.
                raise NotPortable(f"a class that is not found under its name, {path}")
            self.referred[path] = cls
        return path

    def class_words(self, cls):
        """(import path, digest of what it and its bases define)."""
        self._variable += 1
        known = self._classes.get(cls)
        if known is None:
            for base in cls.__mro__:
                if _has_successor(base):
                    raise NotPortable(f"a class whose name is another's now, {_path(base)}")
            parts = [part for base in cls.__mro__ for part in (_path(base), *self._parts(base))]
            known = self._classes[cls] = (_path(cls), digest_of(*parts))
        return known

    def _parts(self, cls):
        if not cls.__flags__ & HEAPTYPE:
            return
        own = self._own(cls)
        yield own.digest
        if self._with_data:
            if cls not in self._data:
                self._data[cls] = list(self._data_of(cls, own.data))
            yield from self._data[cls]

    def _data_of(self, cls, names):
        for name in names:
            if self._is_data(cls, name):
                yield f"{name} {self._data_words(cls, vars(cls)[name])}"
        members = _members(cls)
        for name, member in members.items():
            yield f"member {name} {self._enum_member(member)}"
        if members:
            yield from self._further_members(cls, members)

    def _further_members(self, cls, members):
        """What a program put into an enumeration itself."""
        for value, member in by_value(cls).items():
            if value is not member._value_ or members.get(member._name_) is not member:
                yield f"value {PlainData(self).words(value)} {self._enum_member(member)}"
        if cls._member_names_ != [name for name, member in members.items() if member._name_ == name]:
            yield f"names {cls._member_names_}"
        for name in members:
            found = vars(cls).get(name)
            if isinstance(found, enum.Enum) and found is not members[name]:
                yield f"member of another name {name} {self._enum_member(found)}"

    def _own(self, cls):
        known = self._owns.get(cls)
        if known is not None:
            return known
        variable = self._variable
        lines, data = [], []
        if type(cls) not in _METACLASSES:
            lines.append(f"metaclass {self.class_words(type(cls))}")
        else:
            lines += self._patched(type(cls))
        skipped = (*_members(cls), *REPLACED.get(cls, ()), *self._unread(cls))
        for name, value in sorted(vars(cls).items()):
            if name not in skipped:
                if name != "__hash__" and isinstance(value, _NAMED) and "__hash__" in (
                        held(value, "__name__"), held(held(value, "__code__"), "co_name")):
                    self._tells(hash)
                words = self._annotate(value) if name in _ANNOTATE else self._member(value)
                data.append(name) if words is None else lines.append(f"{name} {words}")
        if "_boundary_" in vars(cls):  # What a flag makes of bits that it does not know.
            lines.append(f"boundary {vars(cls)['_boundary_']}")
        if cls.__flags__ & MATCHED:
            lines.append(f"matched {cls.__flags__ & MATCHED}")
        if vars(cls).get("__abstractmethods__"):
            lines.append(f"abstract {sorted(vars(cls)['__abstractmethods__'])}")
        if self.enumerates and not is_installed(cls):
            lines.append(f"order {[name for name in vars(cls) if name not in _KEPT_BY_PYTHON]}")
        known = self._owns[cls] = _Own(digest_of(*lines), tuple(data), self._variable == variable)
        return known

    def _unread(self, cls):
        """Names of its functions that nothing asks for."""
        asked = self._names if self._with_data else self.called
        if self.enumerates or asked is ALL:
            return ()
        found = askable(cls)
        self._variable += bool(found)
        return [name for name in found if name not in asked]

    def _patched(self, metaclass):
        """What somebody put into a metaclass of Python's."""
        if metaclass not in self._patches:
            self._patches[metaclass] = [
                f"patched {name} {self._member(value)}" for name, value in sorted(vars(metaclass).items())
                if isinstance(value, types.FunctionType) and value.__globals__ is not held(sys.modules.get(metaclass.__module__), "__dict__")]
        return self._patches[metaclass]

    def _data_words(self, cls, value):
        """Of an installed package, what has no words is of the package's version; of a program, it has none."""
        try:
            return PlainData(self).words(value)
        except NotPortable:
            if not is_installed(cls):
                raise
            return ["instance", _path(type(value))]

    def _is_data(self, cls, name):
        if name in _KEPT_BY_PYTHON or (isinstance(cls, enum.EnumMeta) and name in KEPT_BY_ENUMERATIONS):
            return False
        is_special = name.startswith("__") and name.endswith("__") and name not in _READ_BY_NAME
        return is_special or name in _READ_UNNAMED or self.reads(name)

    def _enum_member(self, member):
        own = {
            name: value for name, value in own_attributes(member).items()
            if name not in OF_MEMBERS and self.reads(name)}
        data = PlainData(self)
        return [member.name, data.words(member._value_), *(
            [name, data.words(value)] for name, value in sorted(own.items()))]

    def _member(self, value):
        """What decides how an attribute of a class behaves; None for plain data."""
        if isinstance(value, types.FunctionType):
            function = undecorated(value)
            return self.function_digest(function) if isinstance(function, types.FunctionType) else f"{self(function)}"
        if isinstance(value, (staticmethod, classmethod)):
            return f"{type(value).__name__} {self._member(value.__wrapped__)}"
        if isinstance(value, property):
            return f"property {[self._part(f) for f in (value.fget, value.fset, value.fdel)]}"
        if isinstance(value, _BUILTINS):
            self._note_process(value)
            return f"builtin {value.__qualname__}"
        if held(type(value), "__get__") is not None:
            return f"descriptor {self._descriptor(value)}"
        return None

    def _note_process(self, value):
        if is_run_for_its_result(value):
            self._tells(value)

    def _tells(self, function):
        self.of_process.add(function.__name__)
        self._variable += 1  # Whoever describes it again is to meet it again.

    def _descriptor(self, value):
        if is_field(value):
            return f"{_path(type(value))} {value.__reduce__()[1]}"  # Which item, and its text.
        if not (type(value).__flags__ & HEAPTYPE or self.is_code(value)):
            return _path(type(value))
        self._variable += 1
        return PlainData(self).words(value) if self._with_data else _path(type(value))

    def _own_data(self, function):
        """What code may read of a function's own attributes."""
        if self._reads_documentation:
            yield f"__doc__ {function.__doc__!r}"
        for name, value in sorted(function.__dict__.items()) if function.__dict__ else ():
            if not name.startswith(LEFT_ON_FUNCTIONS):
                self._variable += 1
                if self.reads(name):
                    yield f"{name} {PlainData(self).words(value)}"

    def _annotate(self, value):
        """Not its closure: that holds the class's own dictionary."""
        code = getattr(value, "__code__", None)
        return None if code is None else self.code_digest(code)

    def _part(self, value):
        """A default, a cell or an argument of partial: described if it can be, else its type."""
        if isinstance(value, type):  # Not its digest: methods have their own class in a cell.
            return ["class", self.refer_to(value)]
        self._note_process(value)
        try:
            return self(value)
        except NotPortable:
            return ["instance", _path(type(value))]

    def _cell(self, cell):
        try:
            return self._part(cell.cell_contents)
        except ValueError as error:
            let_through(error)
            return ["empty"]

    def _owner(self, value):
        owner = getattr(value, "__self__", None)
        if owner is None:
            holder = held(value, "__objclass__")
            return None if holder is None else ["of", self.refer_to(holder)]
        if isinstance(owner, types.ModuleType):
            return _module_words(owner)
        if isinstance(owner, type):
            return ["class", _path(owner)]
        if type(owner).__name__.startswith("pybind11_"):  # An extension's own record of a function.
            return None
        self._variable += 1
        if self._with_data:
            return self._owner_words(owner)
        raise NotPortable(f"a bound method of {type(owner).__name__}")

    def _owner_words(self, owner):
        if id(owner) in self._open:  # It holds the method itself.
            return ["outer"]
        self._open.add(id(owner))
        try:
            return PlainData(self).words(owner)
        finally:
            self._open.discard(id(owner))

    def _cover(self, code):
        if id(code) not in self.covered:
            self.covered[id(code)] = code
            for constant in code.co_consts:
                if type(constant) is types.CodeType:
                    self._cover(constant)


def _members(cls):
    """{name: member} of an enumeration."""
    return cls._member_map_ if isinstance(cls, enum.EnumMeta) else {}


def by_value(cls):
    """{value: member} of an enumeration, without those that combine others, which come as they are asked for."""
    return {value: member for value, member in cls._value2member_map_.items() if not (
        isinstance(member, enum.Flag) and (member._name_ is None or "|" in member._name_))}


def _module_words(module):
    """One of which an import gives another by its name is no version of what is installed."""
    loaded = sys.modules.get(module.__name__, module)
    return ["module", module.__name__, *["in place of the loaded one"] * (loaded is not module)]


def _with_slots(cls, path):
    """What dataclass(slots=True) made of a class, a new one under the same name: cells of its methods hold the first."""
    parameters = vars(cls).get("__dataclass_params__")
    found = None if parameters is None else look_up(path)
    return found if isinstance(found, type) and vars(found).get("__dataclass_params__") is parameters else cls


def _has_successor(cls):
    """Does another class stand where this one was: was its module loaded anew, or is there a second one of its name?"""
    found = sys.modules.get(held(cls, "__module__")) if cls.__flags__ & HEAPTYPE else None
    if not isinstance(found, types.ModuleType) or is_installed_module(found):
        return False
    for part in held(cls, "__qualname__").split("."):
        found = (held(found, "__dict__") or {}).get(part)
    # A class may be made of a base of its own name, as named tuples are.
    return isinstance(found, type) and cls not in type.__getattribute__(found, "__mro__")


def _path(value):
    module = module_of_class(value) if isinstance(value, type) else held(value, "__module__")
    return f"{module}:{held(value, '__qualname__')}"
