"""Whether code that reads attributes by text says these texts itself."""

import ast

from .reads import asks_by_text, asking_by_text
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
