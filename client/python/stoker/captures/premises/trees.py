"""Which classes PyTorch's pytree takes apart: registering one changes no class."""

from ...pytorch.state import tree_nodes
from ..words.held import module_name_of
from ..words.installed import is_installed
from ..words.values import class_path, look_up


def trees_of(reached, classes):
    """[[path of a class, is it taken apart?]] of a program's classes, where code that was traced takes trees apart."""
    if not any("pytree" in module_name_of(value) for value in reached.values):
        return []
    return sorted([class_path(cls), _is_node(cls)] for cls in classes if not is_installed(cls))


def first_difference(trees):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for path, expected in trees:
        cls = look_up(path)
        if isinstance(cls, type) and _is_node(cls) != expected:
            return f"pytree of {path}", str(expected), str(not expected)
    return None


def _is_node(cls):
    return cls in tree_nodes()
