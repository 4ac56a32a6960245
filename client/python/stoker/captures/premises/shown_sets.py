"""The sets whose order code may let out: those that it makes, and those that are there.

A set is followed by the names of the variables and attributes that hold it, through all code of the program. Where code
may come to one without saying its name, the order counts as shown.
"""

import operator
import types
from typing import NamedTuple

from ..bytecode.named_texts import asks_by_unsaid_text, reads_unsaid_variables
from ..bytecode.reads import (
    VIEWS, combines, has_no_order, is_plain_set, is_sortable, makes_sets, names_in_code, takes_by_place, takes_exceptions,
    texts_in_code)
from ..bytecode.set_order import ASKING, BUILTINS, Around, shows_order
from ..words.held import HEAPTYPE, held
from ..words.orders import sets_in
from ..words.paths import is_platforms
from .chains import ABSENT, look_along
from .held_sets import Met, parts_of

_OF_UNTOLD = (type, types.ModuleType, types.FunctionType)  # Of Python's own types, those whose texts tell no attribute.
_GETTERS = (operator.attrgetter, operator.methodcaller)
_ASKING = (getattr, vars, dir, eval, exec, globals, locals, object.__getattribute__, type.__getattribute__)
_FUNCTIONS = (types.FunctionType, types.MethodType)
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
_SETS = (set, frozenset)
_SLOTS = types.MemberDescriptorType


def met_by_guards(nodes, values):
    """`nodes`, `values`: of paths. [Met]"""
    return [
        Met(node[2] if _is_by_name(nodes, values, node) else None, node[1] == "local", value)
        for place, (node, value) in enumerate(zip(nodes, values))
        if node[1] != "type" and not is_platforms(nodes, place)]  # A type code asks for with a call.


def _is_by_name(nodes, values, node):
    parent, step, argument = node
    if step == "item":  # Dynamo looks an attribute up in the dictionaries of classes.
        return nodes[parent][1] in ("typedict", "builtins") and isinstance(argument, str)
    if step not in ("attr", "generic"):
        return step in ("global", "local")
    owner = values[parent]
    return isinstance(owner, _OF_UNTOLD) or bool(type(owner).__flags__ & HEAPTYPE)


def shown_sets(reached, guarded):
    """(may the order of a set that traced code made come out, the existing sets whose order may). `reached`: a
    reach.Reached; `guarded`: [Met]. PyTorch's own code depends on no such order; an installed package's where it was
    traced."""
    return _Sets(reached, guarded).shown()


class _Code(NamedTuple):
    code: types.CodeType
    names: frozenset  # Of attributes and variables.
    read: list  # [Met] of sets, but of those that guards met.
    makes: bool  # Does it make sets?


class _Sets:
    def __init__(self, reached, guarded):
        self._reached, self._guarded = reached, guarded
        self._globals = [Met(names[-1], False, value) for (_, names), value in reached.globals_of_programs.items()]
        self._codes = [
            _Code(code, names_in_code(code), reached.sets_read(code), makes_sets(code)) for code in reached.of_programs]
        self._codes += [
            _Code(code, names_in_code(code), reached.sets_of_package(code), makes_sets(code))
            for code in reached.untraced_of_packages]
        self._sets = [_by_name_if_plain(each) for met in guarded for each in _sets_of(met)]
        self._unguarded = [  # Nor is it known how these are filled.
            _by_name_if_plain(met) for met in reached.met_unseen if isinstance(met.value, _SETS)]
        self._held = [
            part for met in (*self._globals, *guarded, *reached.met_unseen) for part in parts_of(met)]

        self._combines = any(combines(each.code) for each in self._codes if reached.is_unseen(each.code))

    def shown(self):
        makes, known = any(_is_maker(each) for each in self._held), -1
        if not (self._sets or self._unguarded or self._combines or any(each.read or each.makes for each in self._codes)):
            return makes, []
        self._look_around()
        found = self._found_otherwise()
        while known != len(self._kept or ()):  # What one function keeps another one reads.
            known = len(self._kept or ())
            for each in self._codes:
                shown, sets = self._of_code(each)
                makes |= shown
                found += sets
        return makes or bool(self._kept and not self._texts.isdisjoint(self._kept)), found

    def _found_otherwise(self):
        """The sets that code comes to under no name that it says. What no guard met, it may not come to at all."""
        said = frozenset().union(*(each.names for each in self._codes)) - self._texts if self._by_name else frozenset()
        return [met.value for met in self._sets if met.name not in said] + [
            met.value for met in self._unguarded
            if has_no_order(met.value) and (not self._by_name or met.name is None or met.name in self._texts)]

    def _look_around(self):
        """What holds of all code."""
        codes, asking = [each.code for each in self._codes], self._reached.asking_by_text()
        self._by_name = not (
            self._reached.enumerates or any(asks_by_unsaid_text(*each) for each in asking)
            or any(takes_by_place(each) for each in codes) or any(reads_unsaid_variables(each) for each in codes)
            or any(_reads_attributes(each) for each in self._held))
        self._texts = frozenset().union(*(texts_in_code(each) for each in [*codes, *(code for code, _ in asking)]))
        self._kept = set() if self._by_name else None
        own = self._reached.own_names | self._reached.descriptors | {
            met.name for met in self._guarded if isinstance(met.value, _FUNCTIONS) or type(met.value).__flags__ & HEAPTYPE}
        self._around = Around(raised=any(takes_exceptions(each) for each in codes), own=frozenset(own), kept=self._kept)

    def _of_code(self, looked_at):
        """(does this code let out the order of a set, the existing ones that it reads then)"""
        code, names, read, makes = looked_at
        read = [*read, *(met for met in (*self._sets, *self._unguarded) if met.name in names)]
        escapes = self._combines and self._reached.is_unseen(code)
        attributes = {met.name for met in read if not met.is_variable} | names & (self._kept or frozenset())
        variables = {met.name for met in read if met.is_variable}
        if not (attributes or variables or makes or escapes):
            return False, []
        around = self._around._replace(
            combined=escapes,
            own=self._around.own | self._hidden_in(code),
            sortable=all(is_sortable(met.value) for met in (*self._sets, *self._unguarded, *read)),
            run=self._reached.run_in(code), traced=self._reached.traced_in(code))
        shows = not all(is_plain_set(met.value) for met in read) or shows_order(
            code, frozenset(attributes), frozenset(variables), around)
        return shows, [met.value for met in read] if shows else []

    def _hidden_in(self, code):
        """The builtins whose names stand for something else there."""
        modules = self._reached.modules_of(code)
        if not modules:
            return BUILTINS
        return {name for name in BUILTINS for module in modules if look_along(module, (name,)) is not ABSENT}


def _sets_of(met):
    """It, or what is in the keys of a dictionary: nothing but the dictionary leads to these."""
    if has_no_order(met.value):
        return [met]
    keys = dict.keys(met.value) if isinstance(met.value, dict) else ()
    return [Met(None, False, inner) for inner in sets_in(tuple(key for key in keys if not isinstance(key, str)))]


def _by_name_if_plain(met):
    return met if is_plain_set(met.value) else met._replace(name=None)


def _is_maker(met):
    """Is it a class of sets, or a method of a set, but those that say nothing of an order, and those of Python that code
    says for what they are?"""
    value = met.value
    if isinstance(value, _METHODS):
        return value.__name__ not in ASKING and (
            value.__name__ in VIEWS or isinstance(held(value, "__self__"), _SETS) or held(value, "__objclass__") in _SETS)
    return isinstance(value, type) and issubclass(value, _SETS) and not (value in _SETS and met.name == value.__name__)


def _reads_attributes(met):
    """Is it something that reads attributes, and that code does not name for what it is?"""
    if isinstance(met.value, _GETTERS):
        return True
    return (isinstance(met.value, _SLOTS) or any(met.value is each for each in _ASKING)) and met.value.__name__ != met.name
