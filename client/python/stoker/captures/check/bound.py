"""The guards of a capture as one Python function over the objects that the first check found equal.

An object that is still the same one needs no second look where it cannot change: constants, functions,
classes, modules. Tensors, lengths, keys and attributes are looked at in every call.
"""

import builtins
import sys

import torch

from ...base.signals import let_through
from ...pytorch.tensors import metadata_check
from ..premises import checks
from ..words.arrays import array_as_tensor
from ..words.paths import ROOT, dictionary_item, item, key_at
from ..words.values import decode

_SCALARS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)

_STEPS = {
    "generic": "_generic({0}, {1})", "item": "_item({0}, {1})", "dict": "_dict({0}, {1})",
    "list": "_list({0}, {1})", "key": "_key({0}, {1})", "type": "type({0})",
    "typedict": "vars({0})", "default": "{0}.__defaults__[{1}]",
    "keyword": "{0}.__kwdefaults__[{1}]", "tensor": "_array_as_tensor({0})"}

_GUARDS = {
    "length": "len({0}) == {1}", "contains": "{1} in {0}", "lacks": "{1} not in {0}",
    "has attribute": "hasattr({0}, {1})", "has no attribute": "not hasattr({0}, {1})",
    "own attributes lack": "{1} not in _generic({0}, '__dict__')"}


def compile_check(nodes, guards, distinct, bound, global_values, describe):
    """f(locals) -> bool. `bound`: the value of every node when all guards held."""
    writer = _Writer(nodes, bound, global_values, describe)
    for guard in guards:
        writer.guard(*guard[:3])
    return writer.function(distinct)


class _Writer:
    def __init__(self, nodes, bound, global_values, describe):
        self._nodes = nodes
        self._bound = bound
        self._lines = []
        self._written = set()
        self._tensors = []
        self._describe = describe
        self._names = {
            "_generic": object.__getattribute__, "_item": item, "_dict": dictionary_item,
            "_list": list.__getitem__, "_key": key_at, "_array_as_tensor": array_as_tensor,
            "_globals": global_values, "_loaded": sys.modules, "_builtins": vars(builtins),
            "_let_through": let_through}

    def _constant(self, value):
        name = f"c{len(self._names)}"
        self._names[name] = value
        return name

    def _node(self, place):
        name = f"v{place}"
        if place in self._written:
            return name
        self._written.add(place)
        parent, step, argument = self._nodes[place]
        if parent == ROOT:
            where = {"local": "L", "global": "_globals", "module": "_loaded"}.get(step)
            text = "_builtins" if where is None else f"{where}[{argument!r}]"
        else:
            base = self._node(parent)
            if step == "attr":
                text = f"{base}.{argument}" if argument.isidentifier() else (
                    f"getattr({base}, {argument!r})")
            else:
                text = _STEPS[step].format(base, self._argument(argument))
        self._lines.append(f"{name} = {text}")
        return name

    def _argument(self, argument):
        if isinstance(argument, dict):
            if "node" in argument:
                return self._node(argument["node"])
            return self._constant(decode(argument))
        return repr(argument)

    def guard(self, place, kind, expected):
        value, name = self._bound[place], self._node(place)
        if kind == "same":
            self._require(f"{name} is {self._node(expected)}")
        elif kind == "type":
            self._require(f"type({name}) is {self._constant(type(value))}")
        elif kind in _GUARDS:
            decoded = decode(expected) if kind in ("contains", "lacks") else expected
            plain = isinstance(decoded, (str, int)) and not isinstance(decoded, bool)
            self._require(_GUARDS[kind].format(
                name, repr(decoded) if plain else self._constant(decoded)))
        elif kind == "tensor" and None not in (*expected["size"], *expected["stride"]):
            self._tensors.append(place)
        elif kind == "dynamic" and isinstance(value, torch.nn.Parameter):
            pass  # Dims of a parameter are never marked.
        elif kind == "is" or kind == "equals" and _is_immutable(value):
            self._require(f"{name} is {self._constant(value)} or {self._slow(kind, expected, name)}")
        else:
            self._require(self._slow(kind, expected, name))

    def _slow(self, kind, expected, name):
        describe = self._describe
        check = self._constant(lambda value: checks.matches(kind, value, expected, describe))
        return f"{check}({name})"

    def _require(self, condition):
        self._lines.append(f"if not ({condition}): return False")

    def function(self, distinct):
        apart = [place for place in distinct if place in self._tensors]
        if apart:  # One call looks at all, and whether two became one. The others are the same as these.
            check = metadata_check([self._bound[place] for place in apart])
            names = ", ".join(self._node(place) for place in apart)
            self._require(f"{self._constant(check)}({names})")
        if len(apart) != len(distinct):
            names = ", ".join(f"id({self._node(place)})" for place in distinct)
            self._require(f"len({{{names}}}) == {len(distinct)}")
        body = "\n  ".join(self._lines) or "pass"
        text = f"def check(L):\n try:\n  {body}\n except Exception as error:\n  _let_through(error)\n  return False\n return True\n"
        exec(compile(text, "<guards of a Stoker capture>", "exec"), self._names)
        return self._names["check"]


def _is_immutable(value):
    if isinstance(value, tuple):
        return all(isinstance(item, _SCALARS) for item in value)
    return isinstance(value, _SCALARS)
