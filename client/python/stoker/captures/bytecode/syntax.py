"""From a code object to the syntax that it was compiled from, with the names that bytecode has."""

import ast
import functools
import linecache

from ...base.signals import let_through
from .reads import code_inside

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def syntax_of(code):
    """The syntax of a function, or None: without a source that compiles to this very code nothing is known of it. Of a
    comprehension, the function that it stands in."""
    compiled = _compiled(code.co_filename)
    if compiled is None:
        return None
    functions, codes = compiled
    name = code.co_qualname
    while name.endswith(("comp>", "<genexpr>")):
        name = name.rpartition(".<locals>.")[0]
    lines = {
        outer.co_firstlineno for outer in codes.get(name, ())
        if any(_is_same(each, code) for each in code_inside(outer))}
    found = [node for line in lines for node in functions.get(line, ())]
    return found[0] if len(found) == 1 else None


def is_within(place, node):
    """Is the instruction one of the expression's? Where Python keeps no columns (`-X no_debug_ranges`), of its lines'."""
    line, _, column, _ = place
    if line is None or column is None:
        return line is not None and node.lineno <= line <= node.end_lineno
    return (node.lineno, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)


def _is_same(one, other):
    return (one.co_code, one.co_names, one.co_firstlineno) == (other.co_code, other.co_names, other.co_firstlineno)


def _first_line(node):
    return min((part.lineno for part in getattr(node, "decorator_list", ())), default=node.lineno)


@functools.lru_cache(maxsize=64)
def _compiled(path):
    """({first line: syntax of functions and classes}, {qualified name: code objects}) of a file, or None."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
        outer = compile(tree, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        let_through(error)
        return None
    codes = {}
    for code in code_inside(outer):
        codes.setdefault(code.co_qualname, []).append(code)
    _name_as_bytecode(tree)
    functions = {}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            functions.setdefault(_first_line(node), []).append(node)
    return functions, codes


def _name_as_bytecode(tree):
    """Within a class, `__name` stands for `_Class__name`."""
    pending = [(tree, "")]
    while pending:
        node, cls = pending.pop()
        for field in ("attr", "id", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                setattr(node, field, _mangled(name, cls))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [_mangled(name, cls) for name in node.names]
        body = node.body if isinstance(node, ast.ClassDef) else ()
        pending += [
            (child, node.name.lstrip("_") if child in body else cls) for child in ast.iter_child_nodes(node)]


def _mangled(name, cls):
    return f"_{cls}{name}" if cls and name.startswith("__") and not name.endswith("__") else name
