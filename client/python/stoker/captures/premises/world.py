"""All that code which runs untraced can come to, in words: a closed world, or none.

No guard knows of what such code reads (a method of an enumeration or of a metaclass, a fake implementation). So a capture
that depends on it holds all that it could read, by value: from the functions that may run, what their globals, outer variables
and arguments by default hold, what lies in that, and the functions and methods there that bear a name which one of these
functions says. It consists of few kinds, each of which its words tell entirely: numbers and texts, containers of Python's
own, functions and classes of programs and of packages, abstract ones and what Python generates for them, their plain objects, members of
enumerations, functions of Python's that compute.
Whatever else such code could come to has no words here: the capture stays in its process.
"""

import abc
import builtins
import collections
import dataclasses
import enum
import functools
import math
import sys
import types

import torch

from ...base.signals import let_through
from ...pytorch.operators import computes_with_tensors
from ..bytecode.closed import MAKES_OBJECTS, OBJECT, SPECIAL_METHODS, OutOfSight, reads_of
from ..bytecode.reads import is_ordered_by_address, is_ordered_by_history
from ..words.digests import code_digest
from ..words.generated import (
    MADE_BY_DEFAULT, is_field, is_generated, is_of_an_ordering, is_of_data_class, makes_one, place_of, repeated)
from ..words.held import HEAPTYPE, MATCHED, held
from ..words.identity import KEPT_BY_ENUMERATIONS, OF_MEMBERS, by_value
from ..words.installed import is_installed_file, is_installed_module, is_pythons_file
from ..words.numbers import float_words, is_nan
from ..words.plain_data import own_attributes
from ..words.values import DATA_TYPES, NotPortable, encode
from ..words.versions import is_platforms_class, is_platforms_function

_MAX_VALUES = 20_000
_ASKED_BY_C = frozenset(("keys", "__class__", "__bases__"))  # Of objects themselves.
_TEXTS = ("__repr__", "__str__", "__format__")
_MAX_ROUNDS = 64
_MISSING = object()
_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, range, type(Ellipsis), type(NotImplemented))
_SINGLE = (type(None), bool, type(Ellipsis), type(NotImplemented))
_OF_TORCH = (torch.dtype, torch.layout, torch.memory_format, torch.device)
_SEQUENCES = (tuple, list)
_SETS = (set, frozenset)
_MAPPINGS = (dict, types.MappingProxyType)
_CHANGING = (list, dict, set)
_BASES = (object, int, str, float, complex, bytes, tuple, type)  # That a program's class may have, besides enumerations.
_ENUMERATIONS = tuple(
    value for value in vars(enum).values() if isinstance(value, type) and issubclass(value, (enum.Enum, enum.EnumMeta)))
# Of classes: what nothing asks for that keeps to what closed.py allows.
_UNASKED = frozenset((
    "__dataclass_params__", "__dataclass_fields__", "__getstate__", "__setstate__", "__reduce__", "__reduce_ex__",
    "__getnewargs__", "__getnewargs_ex__", "__copy__", "__deepcopy__", "__replace__"))
_SETTING = ("__setattr__", "__delattr__")
_ABSTRACT = (abc.ABC, abc.ABCMeta)
_OF_ABSTRACT = ("_abc_impl", "__abstractmethods__")
# Which abstract classes answer by what was registered.
_ASKING_KINDS = frozenset(("isinstance", "issubclass", "__instancecheck__", "__subclasscheck__", "register"))
_BY_VALUE = "_value2member_map_"  # Of enumerations; combined flags come as they are asked for.
_OF_FLAGS = ("_boundary_", "_flag_mask_")
_METHODS = (types.FunctionType, staticmethod, classmethod, property)
_KEPT_BY_PYTHON = frozenset((
    "__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__annotations__", "__firstlineno__", "__slots__",
    "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__classdictcell__",
    "__type_params__", "__orig_bases__", "__parameters__"))
_BUILTINS = frozenset("""
    abs all any ascii bin bool bytes callable chr classmethod complex dict divmod enumerate filter float format frozenset
    getattr hasattr hex int isinstance issubclass iter len list map max min next object oct ord pow property range repr
    reversed round set slice sorted staticmethod str sum super tuple type zip NotImplemented Ellipsis""".split())
_CLASSES_OF_TORCH = (torch.Tensor, torch.Size, torch.dtype, torch.device)


class World:
    """`words`: [[what, ...]] of the values in the order in which they are met; `names`: of attributes that code
    says; `reads`: those of them whose values it reads; `computes`: may it do more with a value than ask for attributes and
    its class? `calls`: may it call what is no global and no attribute? NotPortable where it is not closed."""

    def __init__(self, roots, orders):
        """`roots`: functions, and classes whose members and methods count as met; `orders`: whether the order of a set
        counts."""
        self._orders = orders
        self._has_tensors = not any(isinstance(root, type) for root in roots)  # Others compute with real ones, and random numbers.
        self._by_identity = False  # Does code ask which values are one object?
        self.names = SPECIAL_METHODS | _ASKED_BY_C
        for _ in range(_MAX_ROUNDS):
            before = self.names, self._by_identity
            self._walk(roots)
            if (self.names, self._by_identity) == before:
                break
        else:
            raise NotPortable("code that runs untraced and reads too much")
        says_texts = not self.reads.isdisjoint(_TEXTS)  # Of anything: by object's method, or by one of another class.
        if not self.reads.isdisjoint(SPECIAL_METHODS):
            self.reads |= self._unsaid
        if self._may_change and self._holds_changing:
            raise NotPortable("code that runs untraced and may change what it reads")
        shows = self._holds_addresses or not self._taken.isdisjoint(self._functions)
        if self._makes_texts and shows or says_texts and self._holds_objects:
            raise NotPortable("code that runs untraced and may make texts of addresses")
        if self._asks_kinds and self._holds_abstract:
            raise NotPortable("code that runs untraced and may ask an abstract class")
        if not self._setting.isdisjoint(self._called_otherwise):
            raise NotPortable("code that runs untraced and may set attributes, or let out hashes")

    def own_reads(self, methods):
        """Names of attributes that these read of the object whose methods they are, and that nothing else reads."""
        codes = {id(method.__code__) for method in methods}
        own = set().union(*(found.own for code, found in self._read.items() if code in codes))
        others = (found.names - found.own if code in codes else found.names for code, found in self._read.items())
        return own.difference(self._of_generated, *others)

    def has(self, value):
        return id(value) in self._places

    def _walk(self, roots):
        """One round: what bears a name that the code of this round says, too, is met in the next one."""
        self.words = []
        self._places, self._met = {}, []  # id -> its place in `words`; keeps alive what has one.
        self._read = {}  # id of a code object -> Reads
        self._may_change = self._holds_changing = self._makes_texts = self._holds_addresses = False
        self._holds_objects = self._holds_abstract = self._asks_kinds = self.computes = self.calls = False
        # Ids of functions: that set attributes, or hash, and that are called by a name which does not say so.
        self._setting, self._called_otherwise = set(), set()
        self.reads = set()
        self._taken, self._functions = set(), set()  # Names: of attributes that are not just called; of functions in classes.
        self._unsaid = set()  # The same of generated methods, which ask objects of their own class.
        self._of_generated = set()
        for root in roots:
            self._refer(root)
        while len(self.words) < len(self._met):
            value = self._met[len(self.words)]
            self.words.append(self._words(type(value), value))

    def _meet(self, value):
        """Words of a value that code may do anything with."""
        kind = type(value)
        is_single = kind in _SINGLE or not self._by_identity
        if kind in _PLAIN and value == value and is_single:  # Whether a nan is the same one shows.
            return encode(value) if value is not NotImplemented else ["NotImplemented"]
        if kind in _OF_TORCH:
            return [kind.__name__, str(value)]
        if value is MADE_BY_DEFAULT:
            return ["made by default"]
        if kind in (types.FunctionType, types.MethodType):
            self._holds_addresses = True
            self._called_otherwise.add(id(value))
        if isinstance(value, type):
            self._note_objects_of(value)
        return self._refer(value)

    def _note_objects_of(self, cls):
        """Code comes to objects of this class, or may make one."""
        is_told = not is_platforms_class(cls)
        self._holds_objects |= is_told and not issubclass(cls, enum.Enum)
        shown = is_told and _defined(cls, "__repr__"), _defined(type(cls), "__repr__")
        self._holds_addresses |= _defined(object, "__repr__") in shown

    def _method(self, value):
        """Of a function that a class, or a method, holds: it is called, and not taken as a value."""
        return self._refer(value) if isinstance(value, _METHODS) else self._meet(value)

    def _refer(self, value):
        if id(value) not in self._places:
            if len(self._met) >= _MAX_VALUES:
                raise NotPortable("code that runs untraced and comes to too many values")
            self._places[id(value)] = len(self._met)
            self._met.append(value)
        return ["at", self._places[id(value)]]

    def _words(self, kind, value):
        self._holds_changing |= isinstance(value, _CHANGING)
        if is_nan(value):
            return ["nan", float_words(value.real), float_words(value.imag)]
        if kind in _PLAIN:
            return ["plain", encode(value)]
        if kind in _SEQUENCES:
            return [kind.__name__, *(self._meet(each) for each in value)]
        if kind in _MAPPINGS:
            return [kind.__name__, *([self._meet(key), self._meet(item)] for key, item in value.items())]
        if kind in _SETS:
            return [kind.__name__, *self._elements(value)]
        if kind is types.FunctionType:
            return self._function(value)
        if kind in (staticmethod, classmethod):
            self._called_otherwise.add(id(value.__func__))
            return [kind.__name__, self._method(value.__func__)]
        if kind is property:
            self._called_otherwise.update(map(id, (value.fget, value.fset, value.fdel)))
            return ["property", *(self._method(each) for each in (value.fget, value.fset, value.fdel))]
        if kind is types.MethodType:
            self._called_otherwise.add(id(value.__func__))
            return ["method", self._method(value.__func__), self._meet(value.__self__)]
        if isinstance(value, type):
            return self._class(value)
        if not is_platforms_class(kind):
            return self._object(kind, value)
        raise NotPortable(f"code that runs untraced may read a value of type {kind.__module__}.{kind.__qualname__}")

    def _elements(self, value):
        if is_ordered_by_address(value):
            raise NotPortable("a set of objects that code may read which runs untraced")
        words = (self._meet(each) for each in value)
        return list(words) if self._orders or is_ordered_by_history(value) else sorted(words, key=repr)

    # ---- functions

    def _function(self, function):
        code, module = function.__code__, sys.modules.get(function.__globals__.get("__name__"))
        if is_platforms_function(function) and not (is_of_data_class(function) and not is_installed_module(module)):
            raise NotPortable(f"code that runs untraced may call {function.__module__}.{function.__qualname__}")
        if held(module, "__dict__") is not function.__globals__ or function.__builtins__ is not vars(builtins):
            raise NotPortable("code that runs untraced has globals of its own")
        if OBJECT in code.co_freevars and function.__closure__[code.co_freevars.index(OBJECT)].cell_contents is not object:
            raise NotPortable("code that runs untraced has an object of its own")
        reads = self._reads(code, is_of_data_class(function))
        hashes = code.co_name == "__hash__" and "hash" not in vars(module) and _is_of(builtins.hash, "builtins")
        if reads.stores or hashes:
            self._setting.add(id(function))
        return [
            "function", module.__name__, *self._own_words(function),
            [self._cell(cell, is_called=code.co_name == "__init__" and is_of_data_class(function))
             for cell in function.__closure__ or ()],
            [self._global(module, names, names[0] in reads.values) for names in reads.chains
             if not (hashes and names[0] == "hash")]]

    def _own_words(self, function):
        """What a function holds itself, but for its outer variables."""
        return [
            function.__name__, function.__qualname__, code_digest(function.__code__, self._orders),
            [self._meet(each) for each in function.__defaults__ or ()],
            [[name, self._meet(value)] for name, value in sorted((function.__kwdefaults__ or {}).items())],
            [[name, self._meet(value)] for name, value in sorted(vars(function).items()) if name in self.names]]

    def _generated(self, function):
        """Python's own of a named tuple: it calls what its cells hold, and methods of the tuple."""
        names = function.__code__.co_names
        self.names |= set(names)
        self._of_generated |= set(names)
        (self._unsaid if function.__code__.co_name == "__repr__" else self.reads).update(names)
        self._makes_texts |= function.__code__.co_name == "__repr__"
        return [
            "generated", *self._of_pythons(collections, function),
            [self._held_by_generated(cell) for cell in function.__closure__ or ()]]

    def _of_pythons(self, module, function):
        """A function of Python's that computes with its arguments, and reads no global but builtins."""
        self.computes = True
        names = [name for name in function.__code__.co_names if hasattr(builtins, name)]
        return [*self._own_words(function), [self._global(module, (name,), True) for name in names]]

    def _held_by_generated(self, cell):
        value = cell.cell_contents
        is_pythons = value is len or isinstance(value, types.BuiltinFunctionType) and value == tuple.__new__
        return ["builtin", value.__qualname__] if is_pythons else self._meet(value)

    def _held_by_frozen(self, value):
        """By what refuses to set attributes of a data class."""
        if value is dataclasses.FrozenInstanceError:
            return ["refusal"]
        if not isinstance(value, type):
            raise NotPortable("code that runs untraced has an object of its own")
        return self._refer(value)

    def _maker(self, function):
        self._reads(function.__code__, False)
        return ["maker", *self._own_words(function)]

    def _reads(self, code, of_data_class):
        """`of_data_class`: for a data class; it asks objects of its own class, and calls what its cells hold."""
        found = self._read.get(id(code))
        if found is None:
            try:
                found = self._read[id(code)] = reads_of(code)
            except OutOfSight as error:
                raise NotPortable(str(error)) from error
            self.names |= found.names
            (self._unsaid if of_data_class else self.reads).update(found.names - found.asked)
            self.computes |= found.computes
            self.calls |= found.calls and not of_data_class
            self._makes_texts |= found.makes_texts
            self._asks_kinds |= not _ASKING_KINDS.isdisjoint((*found.names, *(chain[0] for chain in found.chains)))
            self._holds_addresses |= found.makes_addresses
            self._taken |= found.taken
            self._by_identity |= found.compares_identity
            self._may_change |= found.may_change
        return found

    def _cell(self, cell, is_called):
        """`is_called`: a function that it holds is called, and not taken as a value."""
        try:
            value = cell.cell_contents
        except ValueError as error:
            let_through(error)
            return ["empty"]
        if is_called and type(value) is types.FunctionType:
            self._called_otherwise.add(id(value))
            return self._refer(value)
        return self._meet(value)

    def _global(self, module, names, is_value):
        """What the first of these names stand for: the others are attributes of what is no module. `is_value`: code may do
        more with it than call it."""
        found = vars(module).get(names[0], _MISSING)
        if found is _MISSING:
            return self._builtin(names[0])
        if type(found) is types.FunctionType and not is_value:
            self._called_otherwise.add(id(found))
            return [names[0], self._refer(found)]
        for place, name in enumerate(names[1:], 1):
            if type(found) is not types.ModuleType:
                break
            owner, found = found, vars(found).get(name, _MISSING)
            if found is _MISSING:
                if held(owner, "__getattr__") is not None:
                    raise NotPortable("code that runs untraced asks a module that answers")
                return [*names[:place + 1], ["absent"]]
            if is_installed_module(owner) and type(found) is not types.ModuleType:
                return [*names[:place + 1], self._of_package(owner, name, found)]
        return [names[0], self._meet(found)]

    def _builtin(self, name):
        found = vars(builtins).get(name, _MISSING)
        if found is _MISSING:
            return [name, ["absent"]]
        is_known = name in _BUILTINS or isinstance(found, type) and issubclass(found, BaseException)
        if is_known and held(found, "__name__") in (name, None) and _is_of(found, "builtins"):
            return [name, ["builtin"]]
        return [name, self._meet(found)]

    def _of_package(self, module, name, value):
        """What computes, and nothing else, or is a constant."""
        if type(value) in _PLAIN or type(value) in _OF_TORCH:
            return self._meet(value)
        is_computing = module is math and _is_of(value, "math") and held(value, "__name__") == name
        if is_computing or self._has_tensors and computes_with_tensors(name, value) or any(value is cls for cls in _CLASSES_OF_TORCH):
            return ["of a package"]
        return self._meet(value)

    # ---- classes and objects

    def _class(self, cls):
        if issubclass(cls, _SETS):
            raise NotPortable("a class of sets that code may call which runs untraced")
        if cls in _ABSTRACT:
            self._holds_abstract = True
        if _is_of(cls, "builtins") or cls in (*_ENUMERATIONS, *_ABSTRACT, *_CLASSES_OF_TORCH):
            return ["class", cls.__module__, cls.__qualname__, self._of_pythons_class(cls)]
        if is_platforms_class(cls):
            raise NotPortable(f"code that runs untraced may read the class {cls.__module__}.{cls.__qualname__}")
        members = cls._member_map_ if isinstance(cls, enum.EnumMeta) else {}
        if members and issubclass(cls, enum.Flag) and _BY_VALUE in self.names:
            raise NotPortable("code that runs untraced and reads which flags were combined")
        return [
            "class", cls.__module__, cls.__name__, cls.__qualname__, cls.__flags__ & MATCHED, self._refer(type(cls)),
            [self._refer(each) for each in cls.__bases__], [self._refer(base) for base in cls.__mro__[1:]], self._of_members(cls, members),
            [[name, self._meet(member)] for name, member in members.items()],
            [[self._meet(value), self._meet(member)] for value, member in (by_value(cls) if members else {}).items()],
            [[name, self._attribute(cls, name, value)] for name, value in sorted(vars(cls).items()) if self._counts(cls, name)]]

    def _of_members(self, cls, members):
        """What a program may have put into an enumeration itself."""
        if not members:
            return None
        text = vars(cls).get("_value_repr_")
        return [
            [str(vars(cls).get(name)) for name in _OF_FLAGS], list(cls._member_names_),
            self._method(text) if isinstance(text, _METHODS) else held(text, "__qualname__"),
            [[name, self._refer(found)] for name in members if isinstance(found := vars(cls).get(name), enum.Enum)]]

    def _counts(self, cls, name):
        if name in _KEPT_BY_PYTHON or name in _UNASKED or isinstance(cls, enum.EnumMeta) and (
                name in cls._member_map_ or name in KEPT_BY_ENUMERATIONS):
            return False
        if name == "__new_member__" and not issubclass(cls, enum.Flag):  # It made the members, and will make no more.
            return False
        return name in self.names or name.startswith("_") and name.endswith("_")

    def _attribute(self, cls, name, value):
        function = held(value, "__func__") or value
        if isinstance(function, types.FunctionType):
            self._functions.add(name)
        if is_generated(function, name):
            return [type(value).__name__, *self._generated(function)]
        if name == "__new__" and makes_one(function):
            return [type(value).__name__, *self._maker(function)]
        if is_field(value):
            return ["field", place_of(value)]
        if is_of_an_ordering(function):
            return ["of an ordering", *self._of_pythons(functools, function)]
        if name in _SETTING and type(value) is types.FunctionType and is_of_data_class(value):
            return ["frozen", *self._of_pythons(sys.modules.get(function.__globals__.get("__name__")), function), [
                self._held_by_frozen(cell.cell_contents) for cell in function.__closure__ or ()]]
        if (inner := repeated(function)) is not None:
            return ["repeated", *self._own_words(function), self._method(inner)]
        if isinstance(value, types.FunctionType) and isinstance(cls, enum.EnumMeta) and _is_of_enumerations(value):
            return ["of enumerations", value.__qualname__]
        if isinstance(value, types.MemberDescriptorType):
            return ["slot"]
        if isinstance(value, types.FunctionType) and name not in (*MAKES_OBJECTS, "__hash__"):
            self._called_otherwise.add(id(value))
        if name == "__new__" and isinstance(value, staticmethod):
            self._may_change = True  # It may give an object that is there already, which __init__ then changes.
        if isinstance(value, types.BuiltinFunctionType | types.WrapperDescriptorType | types.MethodDescriptorType):
            owner = held(value, "__self__")
            if (held(value, "__name__") == name or name == "__new_member__") and (owner is None or isinstance(owner, type)):
                return ["builtin", held(value, "__qualname__")]
        if held(type(value), "__get__") is not None and not isinstance(value, _METHODS):
            raise NotPortable("a descriptor that code may ask which runs untraced")
        return self._method(value)

    def _of_pythons_class(self, cls):
        """What a class holds, of enumerations or of abstract classes, which a program might have patched."""
        return [[name, self._of_python(cls, value)] for name, value in sorted(vars(cls).items())
                if cls in (*_ENUMERATIONS, *_ABSTRACT) and name not in _KEPT_BY_PYTHON and name not in KEPT_BY_ENUMERATIONS
                and name not in _OF_ABSTRACT]

    def _of_python(self, cls, value):
        inner = value.fget if isinstance(value, property | types.DynamicClassAttribute) else held(value, "__func__") or value
        if type(value) in _PLAIN:
            return self._meet(value)
        is_patched = isinstance(inner, types.FunctionType) and not (
            is_installed_file(inner.__code__.co_filename) and inner.__globals__ is vars(sys.modules[cls.__module__]))
        if is_patched or held(inner, "__qualname__") is None:
            raise NotPortable("a class of Python's that is patched")
        return [type(value).__name__, inner.__qualname__]

    def _object(self, kind, value):
        if not all(base.__flags__ & HEAPTYPE or base in _BASES for base in kind.__mro__):
            raise NotPortable("code that runs untraced may read an object that is more than its attributes")
        if isinstance(value, enum.Enum):
            own = {name: item for name, item in own_attributes(value).items() if name not in OF_MEMBERS}
            return ["member", self._refer(kind), value._name_, self._meet(value._value_), self._own(own), self._base(kind, value)]
        self._holds_changing = True
        self._note_objects_of(kind)
        return ["object", self._refer(kind), self._own(own_attributes(value)), self._base(kind, value)]

    def _own(self, attributes):
        return [[name, self._meet(item)] for name, item in sorted(attributes.items()) if name in self.names]

    def _base(self, kind, value):
        """What it is besides an object."""
        return next((self._meet(DATA_TYPES[base](value)) for base in kind.__mro__ if base in DATA_TYPES), None)


def _is_of(value, module):
    """Is it Python's own, of that module?"""
    if isinstance(value, type):
        return value.__module__ == module and not value.__flags__ & HEAPTYPE
    if value is NotImplemented or value is Ellipsis:
        return True
    return isinstance(value, types.BuiltinFunctionType) and held(value, "__module__") == module


def _defined(cls, name):
    """What an object of the class has under a name, by its class."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _is_of_enumerations(function):
    return is_pythons_file(function.__code__.co_filename) and function.__module__ == "enum"
