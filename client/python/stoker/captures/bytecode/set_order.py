"""Whether code may let out the order of a set, which the seed of hashes, or addresses, decide.

Read from the source of the few functions that handle sets: what is only asked for its elements, filled, counted,
compared or sorted has no order that shows.
"""

import ast
import functools
import linecache

from .reads import VIEWS, code_inside

_MAKERS = frozenset(("set", "frozenset"))
_INDIFFERENT_CALLS = frozenset(("len", "bool", "sorted", "isinstance", "type", "set", "frozenset"))
_INDIFFERENT_METHODS = frozenset((
    "add", "discard", "remove", "clear", "update", "difference_update", "intersection_update", "isdisjoint",
    "issubset", "issuperset", "__contains__"))
_SETS_OF_SETS = frozenset(("union", "intersection", "difference", "symmetric_difference", "copy"))
_OF_SETS_ALONE = frozenset(("difference_update", "intersection_update", "isdisjoint", "issubset", "issuperset"))
# What makes sets of VIEWS.
_OF_SETS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def shows_order(code, names=frozenset(), raised=True, places=None):
    """Of the sets that the code makes, or that global `names` stand for. `raised`: does an order show that is part of
    what is raised? `places`: dis.Positions of all that runs, in its file; None for everything. True where its source is
    not found."""
    found = _source_of(code)
    return found is None or _Uses(found, names, raised, places).any_shows()


class _Uses:
    def __init__(self, function, names, raised, places):
        self._function, self._names, self._raised, self._places = function, names, raised, places
        self._parents = {
            child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._seen = set()  # Local names that are being looked into.

    def any_shows(self):
        return any(
            self._is_set(node) and self._shows(node) or self._is_maker_for_others(node) for node in ast.walk(self._function))

    def _is_set(self, node):
        if isinstance(node, (ast.Set, ast.SetComp)):
            return True
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in _MAKERS
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, _OF_SETS) and any(map(_is_view, (node.left, node.right)))
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        return name in self._names and isinstance(node.ctx, ast.Load)

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

    def _shows(self, node):
        """May the order of the set that this expression gives come out?"""
        if not self._is_run(node) or not self._raised and self._is_raised(node):
            return False
        parent = self._parents.get(node)
        if isinstance(parent, ast.Compare):
            return False
        if isinstance(parent, (ast.Expr, ast.Delete)) or (
                isinstance(parent, (ast.If, ast.While, ast.Assert)) and node is parent.test):
            return False
        if isinstance(parent, ast.UnaryOp):
            return not isinstance(parent.op, ast.Not)
        if isinstance(parent, (ast.BinOp, ast.BoolOp)):
            return self._shows(parent)
        if isinstance(parent, ast.IfExp):
            return node is not parent.test and self._shows(parent)
        if isinstance(parent, ast.Call) and node is not parent.func:
            if isinstance(parent.func, ast.Attribute):  # Of another set: no other type has these.
                name = parent.func.attr
                return name not in _OF_SETS_ALONE and (name not in _SETS_OF_SETS or self._shows(parent))
            name = parent.func.id if isinstance(parent.func, ast.Name) else None
            if name == "sorted" and parent.keywords:  # A key may take two elements for equal: these stay as they came.
                return True
            return name not in _INDIFFERENT_CALLS or (name in _MAKERS and self._shows(parent))
        if isinstance(parent, ast.Attribute):
            call = self._parents.get(parent)
            if not isinstance(call, ast.Call) or call.func is not parent:
                return True
            return parent.attr not in _INDIFFERENT_METHODS and (
                parent.attr not in _SETS_OF_SETS or self._shows(call))
        if isinstance(parent, ast.AugAssign):
            return node is not parent.value or self._name_shows(parent.target)
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return any(map(self._name_shows, targets)) or (
                isinstance(parent, ast.NamedExpr) and self._shows(parent))
        return True

    def _is_run(self, node):
        return self._places is None or any(_is_within(place, node) for place in self._places)

    def _is_raised(self, node):
        while isinstance(node, (ast.expr, ast.keyword)) and not isinstance(node, (ast.Lambda, ast.NamedExpr)):
            node = self._parents.get(node)
        return isinstance(node, ast.Raise)

    def _name_shows(self, target):
        if not isinstance(target, ast.Name):
            return True
        if target.id in self._seen:
            return False
        self._seen.add(target.id)
        return any(
            self._shows(node) for node in ast.walk(self._function)
            if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load))


def _is_view(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS


def _source_of(code):
    """The syntax of a function, or None: without a source that compiles to this very code nothing is known of it. Of a
    comprehension, the function that it stands in."""
    compiled = _compiled(code.co_filename)
    if compiled is None:
        return None
    tree, codes = compiled
    name = code.co_qualname
    while name.endswith(("comp>", "<genexpr>")):
        name = name.rpartition(".<locals>.")[0]
    lines = {
        outer.co_firstlineno for outer in codes.get(name, ())
        if any(_is_same(each, code) for each in code_inside(outer))}
    found = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) and _first_line(node) in lines]
    return found[0] if len(found) == 1 else None


def _is_same(one, other):
    return (one.co_code, one.co_names, one.co_firstlineno) == (other.co_code, other.co_names, other.co_firstlineno)


def _is_within(place, node):
    """Is the instruction one of the expression's? Where Python keeps no columns (`-X no_debug_ranges`), of its lines'."""
    line, _, column, _ = place
    if line is None or column is None:
        return line is not None and node.lineno <= line <= node.end_lineno
    return (node.lineno, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)


def _first_line(node):
    return min((part.lineno for part in getattr(node, "decorator_list", ())), default=node.lineno)


@functools.lru_cache(maxsize=64)
def _compiled(path):
    """(syntax tree, {qualified name: code objects}) of a file, or None."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
        outer = compile(tree, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    codes = {}
    for code in code_inside(outer):
        codes.setdefault(code.co_qualname, []).append(code)
    return tree, codes
