"""Whether code may let out the order of a set, which the seed of hashes, or addresses, decide.

Read from the source of the few functions that handle sets: what is only asked for its elements, filled, counted,
compared or sorted has no order that shows.
"""

import ast
from typing import Any, NamedTuple

from .named_texts import reads_unsaid_variables
from .reads import COMBINING, VIEWS, chains_of, code_inside
from .syntax import is_within, syntax_of

_MAKERS = frozenset(("set", "frozenset"))
BUILTINS = frozenset((
    "len", "bool", "sorted", "min", "max", "isinstance", "type", "set", "frozenset"))  # Indifferent ones.
ASKING = frozenset(("isdisjoint", "issubset", "issuperset", "__contains__"))  # Methods.
_CHANGING = frozenset(("add", "discard", "remove", "clear", "update", "difference_update", "intersection_update"))
_SETS_OF_SETS = frozenset(("union", "intersection", "difference", "symmetric_difference", "copy"))
_OF_SETS_ALONE = frozenset(("difference_update", "intersection_update", "isdisjoint", "issubset", "issuperset"))
_SORTING = ("sorted", "min", "max")
# What takes a view and leaves it what it is.
_TAKERS = frozenset((
    "list", "tuple", "dict", "set", "frozenset", "sorted", "len", "bool", "any", "all", "sum", "min", "max", "zip", "enumerate",
    "map", "filter", "iter", "reversed", "isinstance", "print", "repr", "str"))
# What makes sets of VIEWS.
_OF_SETS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

# Methods that Python calls with the other operand, or with what is asked about.
_COMPARE = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"))
_ORDER = frozenset(("__lt__", "__gt__"))
_VIEW = "view"
_STORE = frozenset(("__setattr__", "__set__"))


class Around(NamedTuple):
    """What one function does with sets depends on."""

    raised: bool = True  # Does an order show that is part of what is raised?
    own: frozenset = frozenset()  # Names of functions and methods that are not Python's, but the program's.
    sortable: bool = True  # Of all elements of sets, does one always come before the other?
    run: Any = None  # dis.Positions, in its file, of all that runs; None for everything.
    traced: Any = None  # Those of what Dynamo traced; None for everything.
    combined: bool = False  # May what it gives away be combined elsewhere, a view with another one?
    kept: Any = None  # Names of attributes under which code keeps sets, a set to add to; None: these show at once.


def shows_order(code, names=frozenset(), variables=frozenset(), around=Around()):
    """Of the sets that the code makes, or that `names` of attributes and globals, or its own `variables` stand for. True
    where its source is not found. A set that is there before or after the trace has the order that its own process
    gives it, not that in which another one fills it: traced code shows what it keeps, and what it changes of others."""
    found = syntax_of(code)
    if found is None or reads_unsaid_variables(code):
        return True
    globals_read = frozenset(chain[0] for chain in chains_of(code))
    return _Uses(found, _Names(names, names & globals_read | variables, _variables_of(code)), around).any_shows()


class _Names(NamedTuple):
    attributes: frozenset  # Those that stand for sets,
    variables: frozenset  # and the same.
    own: frozenset  # All variables of the function.


def _variables_of(code):
    return frozenset().union(*((*each.co_varnames, *each.co_cellvars, *each.co_freevars) for each in code_inside(code)))


class _Uses:
    """Of sets, in one function. `is_other`: is it a set that is not made here?"""

    def __init__(self, function, names, around):
        self._function, self._names, self._around = function, names, around
        self._hidden = around.own | names.own  # Of builtins, in this function.
        self._parents = {
            child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._outer = {  # Variables that are not the function's.
            name for node in ast.walk(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
        self._seen = set()  # (local name, is_other) that are being looked into.

    def any_shows(self):
        return any(self._begins_to_show(each) for each in ast.walk(self._function))

    def _begins_to_show(self, node):
        if self._is_named(node):
            return self._changes(node) if isinstance(node.ctx, ast.Store) else (
                isinstance(node.ctx, ast.Load) and self._shows(node, True))
        if isinstance(node, ast.alias):
            name = ast.Name(node.asname or node.name)
            return node.name in self._names.attributes and self._variable_shows(name, True)
        if _is_view(node):
            return self._view_shows(node)
        return self._is_made(node) and self._shows(node, False) or self._is_maker_for_others(node)

    def _is_named(self, node):
        return isinstance(node, ast.Attribute) and node.attr in self._names.attributes or (
            isinstance(node, ast.Name) and node.id in self._names.variables)

    @staticmethod
    def _is_made(node):
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in _MAKERS
        return isinstance(node, (ast.Set, ast.SetComp))

    def _is_maker_for_others(self, node):
        """Is it a class of sets that is given away, to make some who knows where?"""
        if not (isinstance(node, ast.Name) and node.id in _MAKERS and isinstance(node.ctx, ast.Load) and self._is_run(node)):
            return False
        parent = self._parents.get(node)
        while isinstance(parent, (ast.Tuple, ast.BinOp)):  # Of several classes.
            node, parent = parent, self._parents.get(parent)
        if isinstance(parent, ast.Call):
            asked = parent.func.id if isinstance(parent.func, ast.Name) else None
            return node is not parent.func and asked not in ("isinstance", "issubclass")
        return not (isinstance(parent, ast.Compare) or self._is_annotation(node))

    def _is_annotation(self, node):
        parent = self._parents.get(node)
        while isinstance(parent, ast.expr):
            node, parent = parent, self._parents.get(parent)
        return node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))

    def _shows(self, node, is_other):
        """May the order of the set that this expression gives come out?"""
        if not self._is_run(node) or not self._around.raised and self._is_raised(node):
            return False
        parent = self._parents.get(node)
        if isinstance(parent, (ast.Expr, ast.Delete)) or (
                isinstance(parent, (ast.If, ast.While, ast.Assert)) and node is parent.test):
            return False
        if isinstance(parent, ast.UnaryOp):
            return not isinstance(parent.op, ast.Not)
        if isinstance(parent, ast.BoolOp):
            return self._shows(parent, is_other)
        if isinstance(parent, ast.IfExp):
            return node is not parent.test and self._shows(parent, is_other)
        if isinstance(parent, ast.NamedExpr):
            return self._variable_shows(parent.target, is_other) or self._shows(parent, is_other)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return any(self._target_shows(target, is_other) for target in targets)
        if isinstance(parent, ast.Attribute):
            return self._method_shows(parent, is_other)
        return self._operand_shows(parent, node)

    def _view_shows(self, node):
        """May the order of a set come out that is made of this view of keys or items? A view itself has its dictionary's."""
        parent = self._parents.get(node)
        if not self._is_run(node):
            return False
        if isinstance(parent, ast.BinOp):
            return isinstance(parent.op, _OF_SETS) and (self._has_own(COMBINING) or self._shows(parent, False))
        if isinstance(parent, ast.AugAssign):
            return isinstance(parent.op, _OF_SETS) and self._target_shows(parent.target, False)
        if isinstance(parent, (ast.BoolOp, ast.IfExp)):
            return self._view_shows(parent)
        if isinstance(parent, ast.NamedExpr):
            return self._view_variable_shows(parent.target) or self._view_shows(parent)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return any(self._view_variable_shows(each) for each in targets)
        if isinstance(parent, ast.Attribute):
            return parent.attr in COMBINING
        return self._around.combined and self._gives_view_away(parent)

    def _view_variable_shows(self, target):
        if not isinstance(target, ast.Name) or target.id in self._outer or self._is_of_class(target):
            return self._around.combined
        if (target.id, _VIEW) in self._seen:
            return False
        self._seen.add((target.id, _VIEW))
        return any(
            self._view_shows(node) if isinstance(node.ctx, ast.Load) else self._makes_set_of(node)
            for node in ast.walk(self._function) if isinstance(node, ast.Name) and node.id == target.id)

    def _makes_set_of(self, target):
        """Is the view that this stands for combined in its place, to a set that shows?"""
        parent = self._parents.get(target)
        return isinstance(parent, ast.AugAssign) and isinstance(parent.op, _OF_SETS) and self._variable_shows(target, False)

    def _gives_view_away(self, parent):
        """To what may combine it with another one?"""
        if isinstance(parent, ast.Call):
            name = parent.func.id if isinstance(parent.func, ast.Name) else None
            return name not in _TAKERS or name in self._hidden
        return not isinstance(parent, (
            ast.For, ast.comprehension, ast.Compare, ast.Expr, ast.Starred, ast.If, ast.While, ast.Assert, ast.UnaryOp,
            ast.FormattedValue, ast.YieldFrom))

    def _operand_shows(self, parent, node):
        """Of an operation, or a call, that gives something new."""
        if isinstance(parent, ast.Compare):
            return self._compared_shows(parent, node)
        if isinstance(parent, (ast.BinOp, ast.AugAssign)):
            if not isinstance(parent.op, _OF_SETS) or self._has_own(COMBINING):  # `%` makes texts, `+=` fills lists.
                return True
            return self._shows(parent, False) if isinstance(parent, ast.BinOp) else (
                node is not parent.value or self._target_shows(parent.target, False))
        return not isinstance(parent, ast.Call) or self._argument_shows(parent)

    def _compared_shows(self, parent, node):
        place = [parent.left, *parent.comparators].index(node)
        before, after = [None, *parent.ops][place], [*parent.ops, None][place]
        is_asked = isinstance(before, (ast.In, ast.NotIn)) and after is None
        return not is_asked and self._has_own(_COMPARE)

    def _argument_shows(self, call):
        if isinstance(call.func, ast.Attribute):  # Of another set: no type of Python's has these.
            name = call.func.attr
            if name in self._around.own:
                return True
            return name not in _OF_SETS_ALONE and (name not in _SETS_OF_SETS or self._shows(call, False))
        name = call.func.id if isinstance(call.func, ast.Name) else None
        if name not in BUILTINS or name in self._hidden:
            return True
        if name in _SORTING:  # What it takes for equal stays as it came.
            return len(call.args) > 1 or any(keyword.arg != "reverse" for keyword in call.keywords) or (
                not self._around.sortable or self._has_own(_ORDER))
        if name == "type":  # It would make sets under another name.
            return not isinstance(self._parents.get(call), ast.Compare)
        if name == "isinstance":
            return self._has_own(("__instancecheck__",))
        return name in _MAKERS and self._shows(call, False)

    def _method_shows(self, attribute, is_other):
        """Of the set itself."""
        call, name = self._parents.get(attribute), attribute.attr
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return True
        if name in _CHANGING:
            return is_other and self._is_traced(attribute)
        return name not in ASKING and (name not in _SETS_OF_SETS or self._shows(call, False))

    def _target_shows(self, target, is_other):
        if not isinstance(target, ast.Attribute):
            return not isinstance(target, ast.Name) or self._variable_shows(target, is_other)
        if self._around.kept is None or target.attr in self._around.own or self._has_own(_STORE) or self._is_traced(target):
            return True
        self._around.kept.add(target.attr)
        return False

    def _variable_shows(self, target, is_other):
        if target.id in self._outer or self._is_of_class(target):
            return True
        if (target.id, is_other) in self._seen:
            return False
        self._seen.add((target.id, is_other))
        return any(
            self._shows(node, is_other) if isinstance(node.ctx, ast.Load) else is_other and self._changes(node)
            for node in ast.walk(self._function) if isinstance(node, ast.Name) and node.id == target.id)

    def _changes(self, target):
        """Does traced code change the set that this stands for, as by `|=`?"""
        return isinstance(self._parents.get(target), ast.AugAssign) and self._is_traced(target)

    def _is_of_class(self, node):
        """Is it a variable of a class's body, and so an attribute?"""
        while node is not None and not isinstance(node, _SCOPES):
            node = self._parents.get(node)
        return isinstance(node, ast.ClassDef)

    def _has_own(self, names):
        return not self._around.own.isdisjoint(names)

    def _is_run(self, node):
        return self._around.run is None or any(is_within(place, node) for place in self._around.run)

    def _is_traced(self, node):
        return self._around.traced is None or any(is_within(place, node) for place in self._around.traced)

    def _is_raised(self, node):
        while isinstance(node, (ast.expr, ast.keyword)) and not isinstance(node, (ast.Lambda, ast.NamedExpr)):
            node = self._parents.get(node)
        return isinstance(node, ast.Raise)


def _is_view(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS
