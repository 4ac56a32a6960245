"""Dynamo's guards as portable guards. What has no portable form raises NotPortable: the capture stays here.

Expected values are read through the same paths that will check them, before the frame runs: some models
change their arguments later in the frame.
"""

import contextlib
import types

import torch

from ...pytorch.guards import ORDER, UNGUARDED, numbers_of
from ...pytorch.marks import COMPILER
from ...pytorch.sources import is_left_out
from ...pytorch.tensors import dynamic_dims, has_unbacked_sizes
from ..premises.checks import keys_of, own_keys_of, tensor_words
from ..premises.members import is_of_attributes
from ..premises.shapes import signs_of_zeros, with_modules
from ..words.arrays import is_array
from ..words.installed import is_named_tuples
from ..words.orders import order_words, sets_in
from ..words.paths import Unreachable, evaluate
from ..words.values import NotPortable, data_of, encode
from .optimizers import TracedOptimizers, is_optimizer
from .sources import SourcePaths

_OF_MAPPINGS = ("item", "dict")  # Steps.
_INPUTS = (int, float, torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
# Kept as a whole by state.py.
_STATE = frozenset((
    "GRAD_MODE", "DETERMINISTIC_ALGORITHMS", "FSDP_TRAINING_STATE", "GLOBAL_STATE",
    "TORCH_FUNCTION_STATE", "DEFAULT_DEVICE", "AUTOGRAD_SAVED_TENSORS_HOOKS", "DUAL_LEVEL",
    "FUNCTORCH_STACK_MATCH"))


class GuardWriter:
    """Writes the guards of one frame."""

    def __init__(self, scope, trace):
        """`scope`: a paths.Scope as it was when the frame was entered; `trace`: a pytorch.frames.Trace."""
        self.paths = SourcePaths(scope.global_values, trace.installed_globals)
        self._metadata, self._scope = trace.metadata, scope
        self.optimizers = TracedOptimizers(trace.optimizers)
        guards = [
            guard for guard in trace.guards
            if guard.kind not in _STATE and not self.optimizers.is_of_death(guard, scope.global_values)]
        if any(is_named_tuples(scope.global_values.get(name)) for name in trace.installed_globals):
            self._find_scopes(guards, scope)
        pending = [(guard, self._place(guard)) for guard in guards]
        if trace.optimizers:
            pending = self._without_what_optimizers_hold(pending, trace)
        self._pending = [
            (guard, place) for guard, place in pending
            if place is None or not (self.paths.root_module(place) or "").startswith(COMPILER)]
        self.values = evaluate(self.paths.nodes, scope)

    def write(self, describe):
        """Sets `guards`, `shapes` (expressions over symbolic sizes) and `distinct`."""
        self.guards, self.shapes = [], []
        self._describe = describe
        self._seen = set()
        for guard, place in self._pending:
            if guard.reason:
                raise NotPortable(guard.reason)
            rule = _RULES.get(guard.kind)
            if rule is None:
                raise NotPortable(f"a {guard.kind} guard")
            value = None if place is None else self.values[place]
            if type(value) is Unreachable:
                raise NotPortable(
                    f"a {guard.kind} guard on what is not reachable when the frame starts")
            self._where = guard.where
            rule(self, guard, place, value)
        self._write_whole_mappings()
        self._write_tensor_aliasing(self.values)

    def _without_what_optimizers_hold(self, pending, trace):
        nodes = self.paths.nodes
        left, others = self.optimizers.left_over(pending, nodes, evaluate(nodes, self._scope), self.paths.of)
        self.paths = SourcePaths(self._scope.global_values, trace.installed_globals)
        pending = [(guard, self._place(guard)) for guard in left]
        for source in (*others, *(source for _, source in trace.optimizers)):
            self.paths.of(source)
        return pending

    def _find_scopes(self, guards, scope):
        """Guards on what makers of named tuples have as globals, by way of these functions, which are guarded, too."""
        for guard in guards:
            with contextlib.suppress(NotPortable):  # As of such globals, now.
                self._place(guard)
        for place, value in enumerate(evaluate(self.paths.nodes, scope)):
            if isinstance(value, types.FunctionType) and is_named_tuples(value.__globals__):
                self.paths.add_scope(value, place)

    def _place(self, guard):
        """The node of the guarded object."""
        if guard.kind == "SHAPE_ENV":
            return None
        place = self.paths.of(guard.source)
        if guard.kind == "CLOSURE_MATCH":
            self._code_of(place)
        if guard.kind == "DUPLICATE_INPUT":
            self.paths.of(_argument(guard, "source_b"))
        return place

    def add(self, place, kind, expected):
        key = (place, kind, repr(expected))
        if key not in self._seen:
            self._seen.add(key)
            self.guards.append([place, kind, expected, self._where])

    def _is(self, guard, place, value):
        if is_optimizer(value):
            self._type(guard, place, value)
            self.optimizers.note_same(place, value)
        else:
            self.add(place, "is", self._describe(value))

    def _closure(self, guard, place, value):
        """Another code object may come into the same function: hot reloading does that."""
        self._is(guard, place, value)
        if isinstance(value, types.FunctionType):
            self.add(self._code_of(place), "is", self._describe(value.__code__))

    def _code_of(self, place):
        return self.paths.add(place, "attr", "__code__")

    def _constant(self, guard, place, value):
        if isinstance(value, type(_constant_code.__code__)):
            self.add(place, "is", self._describe(value))
        else:
            self.add(place, "equals", encode(value))
            self._add_orders(place, value, value)

    def _add_orders(self, place, value, parts):
        if self._describe.orders and sets_in(parts):
            self.add(place, "order", order_words(value))

    def _kind_of_constant(self, guard, place, value):
        self._type(guard, place, value)
        self.add(place, "data", data_of(value))

    def _type(self, guard, place, value):
        self.add(place, "type", list(self._describe.class_words(type(value))))

    def _length(self, guard, place, value):
        if not isinstance(value, dict):
            self._type(guard, place, value)
        self.add(place, "length", len(value))

    def _hooks(self, guard, place, value):
        """Dynamo skips these guards: within a process it trusts that hooks stay. Between two it cannot."""
        if len(value):
            raise NotPortable("a module with hooks")
        self.add(place, "length", 0)

    def _keys(self, guard, place, value):
        if isinstance(value, dict) and guard is not None and is_left_out(guard.source):
            self.add(place, "own keys", own_keys_of(value))
        else:
            self.add(place, "keys", keys_of(value))
        if isinstance(value, dict):
            self._add_orders(place, value, tuple(dict.keys(value)))

    def _order(self, guard, place, value):
        """Keys that have no words have guards of their own, each at its place."""
        if isinstance(value, dict):
            try:
                self._keys(guard, place, value)
            except NotPortable:
                self.add(place, "length", len(value))

    def _attribute(self, guard, place, value):
        name = _argument(guard, "attr")
        self.add(place, "has attribute" if hasattr(value, name) else "has no attribute", name)

    def _own(self, guard, place, value):
        self.add(place, "own attributes lack", _argument(guard, "attr"))

    def _contains(self, guard, place, value):
        self.add(place, "contains", encode(_argument(guard, "key")))

    def _lacks(self, guard, place, value):
        self.add(place, "lacks", encode(_argument(guard, "key")))

    def _duplicate(self, guard, place, value):
        other = self.paths.of(_argument(guard, "source_b"))
        self.add(place, "same", other)

    def _not_none(self, guard, place, value):
        self.add(place, "type", list(self._describe.class_words(type(value))))

    def _tensor(self, guard, place, value):
        if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            raise NotPortable("a tensor subclass")
        metadata = self._metadata[guard.source]
        self._type(guard, place, value)
        self.add(place, "tensor", tensor_words(
            value, numbers_of(metadata["size"]), numbers_of(metadata["stride"])))
        self.add(place, "dynamic", sorted(dynamic_dims(value)))
        if has_unbacked_sizes(value):
            raise NotPortable("a tensor with unbacked sizes")

    def _unguarded(self, guard, place, value):
        """Numbers, tensors and arrays are inputs of the graph."""
        if not (isinstance(value, _INPUTS) or is_array(value)):
            self._is(guard, place, value)

    def _shape(self, guard, place, value):
        for expression in guard.code:
            self.shapes += [
                with_modules(each, self.paths.module_under) for each in (expression, *signs_of_zeros(expression, self._scope))]

    def _write_whole_mappings(self):
        """A dictionary of which all items are guarded may have been taken whole, as for its text: Dynamo guards what is in
        it then, and neither that there is no more nor the order."""
        items = {}
        for parent, step, argument in self.paths.nodes:
            if step in _OF_MAPPINGS:
                items.setdefault(parent, set()).add(repr(argument))
        typed = {place: where for place, kind, _, where in self.guards if kind == "type"}
        for place, where in typed.items():
            value = self.values[place]
            if isinstance(value, dict) and len(items.get(place, ())) >= len(value) and not is_of_attributes(
                    self.paths.nodes, place):
                self._where = where
                self._order(None, place, value)

    def _write_tensor_aliasing(self, values):
        """Tensors that were different objects must be, and no parameter may become another one."""
        first = {}
        for place in [place for place, kind, _, _ in self.guards if kind == "tensor"]:
            other = first.setdefault(id(values[place]), place)
            if other != place:
                self._where = ""
                self.add(place, "same", other)
        self.distinct = sorted(first.values())


def _argument(guard, name):
    """An argument that a guard was made with."""
    if name not in guard.arguments:
        raise NotPortable(f"a {guard.kind} guard made otherwise")
    return guard.arguments[name]


def _constant_code():
    """Its code object's type is what constants may be besides plain values."""


_RULES = {
    "TYPE_MATCH": GuardWriter._type,
    "ID_MATCH": GuardWriter._is,
    "FUNCTION_MATCH": GuardWriter._is,
    "CLASS_MATCH": GuardWriter._is,
    "MODULE_MATCH": GuardWriter._is,
    "BUILTIN_MATCH": GuardWriter._is,
    "CLOSURE_MATCH": GuardWriter._closure,
    "CONSTANT_MATCH": GuardWriter._constant,
    "EQUALS_MATCH": GuardWriter._constant,
    "CONSTANT_SUBCLASS_MATCH": GuardWriter._kind_of_constant,
    "BOOL_MATCH": GuardWriter._constant,
    "NONE_MATCH": GuardWriter._constant,
    "NOT_NONE_MATCH": GuardWriter._not_none,
    "SEQUENCE_LENGTH": GuardWriter._length,
    "EMPTY_NN_MODULE_HOOKS_DICT": GuardWriter._hooks,
    "DICT_KEYS_MATCH": GuardWriter._keys,
    "MAPPING_KEYS_CHECK": GuardWriter._keys,
    "DICT_VERSION": GuardWriter._keys,
    "DICT_CONTAINS": GuardWriter._contains,
    "DICT_NOT_CONTAINS": GuardWriter._lacks,
    "SET_CONTAINS": GuardWriter._contains,
    "SET_NOT_CONTAINS": GuardWriter._lacks,
    "HASATTR": GuardWriter._attribute,
    "NOT_PRESENT_IN_GENERIC_DICT": GuardWriter._own,
    ORDER: GuardWriter._order,
    "DUPLICATE_INPUT": GuardWriter._duplicate,
    "TENSOR_MATCH": GuardWriter._tensor,
    UNGUARDED: GuardWriter._unguarded,
    "SHAPE_ENV": GuardWriter._shape,
}
