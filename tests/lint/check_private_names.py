#!/usr/bin/env python3
"""Checks that PyTorch's private names are used in one package alone, and that its list has each.

Private is what has a part that begins with one underscore. `torch.__version__` counts too: what differs between
versions is in client/python/stoker/pytorch/versions.
"""

import ast
import sys

import repository

PACKAGE = "client/python/stoker/"
PLACE = PACKAGE + "pytorch/"
VERSION = "torch.__version__"


def listed(files):
    """The dotted names that names.py and the adapters list. They are run without PyTorch, which they do not need."""
    lists = [path for path in files if path == PLACE + "names.py" or path.startswith(PLACE + "versions/v")]
    found, scope = set(), {"__name__": "names"}
    for path in sorted(lists):  # names.py first: the adapters take from it.
        tree = ast.parse(files[path])
        tree.body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.level)]
        exec(compile(tree, path, "exec"), scope)
        found |= {name.path.replace(":", ".") for name in scope["NAMES"]}
    return found


def is_private(dotted):
    if not dotted.startswith("torch."):
        return False
    return dotted == VERSION or any(
        part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


def uses(text):
    """(line, dotted name) of each private name of PyTorch in a source."""
    tree = ast.parse(text)
    aliases = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                aliases[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else name.name.partition(".")[0])
                found.append((node.lineno, name.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                aliases[name.asname or name.name] = f"{node.module}.{name.name}"
                found.append((node.lineno, f"{node.module}.{name.name}"))
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            dotted = _dotted(node, aliases)
            if dotted is not None:
                found.append((node.lineno, dotted))
    return sorted({use for use in found if is_private(use[1])})


def _dotted(node, aliases):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    return ".".join([aliases[node.id], *reversed(parts)])


def is_listed(dotted, names):
    return any(
        dotted == name or name.startswith(f"{dotted}.") or dotted.startswith(f"{name}.")
        for name in names)


def complaints(files):
    """Complaints, path:line: message, about files given as {path: text}."""
    names = listed(files)
    found = []
    for path, text in sorted(files.items()):
        if not (path.startswith(PACKAGE) and path.endswith(".py")):
            continue
        for line, dotted in uses(text):
            if not path.startswith(PLACE):
                found.append(
                    f"{path}:{line}: {dotted} is private to PyTorch: only {PLACE} uses such names.")
            elif dotted != VERSION and not is_listed(dotted, names):
                found.append(f"{path}:{line}: {dotted} is not in {PLACE}names.py.")
    return found


if __name__ == "__main__":
    sys.exit(repository.report(complaints(repository.read_files(
        lambda path: path.startswith(PACKAGE)))))
