"""Whether code that reads attributes and variables by text says these texts itself."""

import ast

from .reads import READERS_OF_VARIABLES, asks_by_text, asking_by_text, reads_variables_unnamed
from .syntax import syntax_of

_WITH_A_TEXT = frozenset(("getattr", "hasattr", "setattr", "delattr", "getattr_static"))
_TEMPLATES = frozenset(("format", "format_map"))


def asks_by_unsaid_text(code, is_pytorchs):
    """May it read an attribute under a name that does not stand in it, as a text?"""
    if not asks_by_text(code, is_pytorchs):
        return False
    found, asking = syntax_of(code), asking_by_text(is_pytorchs)
    if found is None:
        return True
    parents = {child: node for node in ast.walk(found) for child in ast.iter_child_nodes(node)}
    return any(
        _name_of(node) in asking and not _says_its_text(node, parents.get(node)) for node in ast.walk(found))


def reads_unsaid_variables(code):
    """May it read a variable of its own, or a global one, without naming it?"""
    if not reads_variables_unnamed(code):
        return False
    found = syntax_of(code)
    if found is None:
        return True
    parents = {child: node for node in ast.walk(found) for child in ast.iter_child_nodes(node)}
    return any(
        isinstance(node, ast.Name) and node.id in READERS_OF_VARIABLES and not _reads_others(node, parents.get(node))
        for node in ast.walk(found))


def _reads_others(node, call):
    """Is it called with what it is to read, in place of the variables that are there?"""
    least = READERS_OF_VARIABLES[node.id]
    return least is not None and isinstance(call, ast.Call) and call.func is node and len(call.args) >= least and not any(
        isinstance(argument, ast.Starred) for argument in call.args)


def _name_of(node):
    if isinstance(node, ast.alias):
        return node.name.rpartition(".")[2]
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _says_its_text(node, call):
    if not isinstance(call, ast.Call) or call.func is not node:
        return False
    if _name_of(node) in _TEMPLATES:
        return isinstance(node, ast.Attribute) and _is_text(node.value)
    return _name_of(node) in _WITH_A_TEXT and len(call.args) > 1 and _is_text(call.args[1]) and not isinstance(
        call.args[0], ast.Starred)


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
