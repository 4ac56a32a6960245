#!/usr/bin/env python3
"""Checks that PyTorch's private names are used in one package alone, and that its list has each.

Private is what has a part that begins with one underscore. Three ways to one are looked at: dotted names that begin
with an import of torch; the same as text ("torch._dynamo.utils"); and attributes of any object, by a dot or by text
(getattr, attrgetter, a key of __dict__): one that the file itself does not define is taken to be PyTorch's. A text that is
a name of the list is taken to be that name, wherever it stands. `torch.__version__` counts too: what differs between
versions is in client/python/stoker/pytorch/versions.
"""

import ast
import re
import sys

import repository

PACKAGE = "client/python/stoker/"
PLACE = PACKAGE + "pytorch/"
LIST = PLACE + "names/__init__.py"
VERSION = "torch.__version__"

_BY_TEXT = frozenset(("getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller", "__getattribute__"))
_OF_NAMED_TUPLES = frozenset(("_replace", "_asdict", "_make", "_fields", "_field_defaults"))
_IS_PRIVATE = re.compile(r"_(?!_)\w*(?<!_)").fullmatch  # Enumerations have names like _value_.
_IS_DOTTED = re.compile(r"torch(\.\w+)*(:\w+(\.\w+)*)?").fullmatch


class List:
    """What names/ and the adapters of versions/ list. They are run without PyTorch, which they do not need."""

    def __init__(self, files):
        lists = [LIST, *sorted(path for path in files if path.startswith(PLACE + "versions/v"))]
        scope = {"__name__": "names"}
        self.dotted, self.attributes = set(), set()
        for path in lists:  # names/ first: the adapters take from it.
            tree = ast.parse(files[path])
            tree.body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.level)]
            exec(compile(tree, path, "exec"), scope)
            for name in scope["NAMES"]:
                dotted = name.path.replace(":", ".")
                self.dotted.add(dotted)
                if not dotted.startswith("torch.ops."):  # Operators have such names in graphs, too.
                    self.attributes.update(filter(_IS_PRIVATE, (*dotted.split("."), *(name.fields or ()))))
        self.attributes.update(scope.get("MARKS", ()))

    def has(self, name):
        if "." not in name:
            return name in self.attributes
        return any(
            name == listed or listed.startswith(f"{name}.") or name.startswith(f"{listed}.")
            for listed in self.dotted)


def is_private(dotted):
    if not dotted.startswith("torch."):
        return False
    return dotted == VERSION or any(
        part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


class Source:
    """One file."""

    def __init__(self, text):
        self.nodes = list(ast.walk(ast.parse(text)))
        self.aliases = {}  # Name -> what it stands for; "" before one of ours.
        self.imported = []  # (line, dotted name)
        for node in self.nodes:
            self._note_import(node)
        self.own = {name for name in map(_defined, self.nodes) if isinstance(name, str)} | _OF_NAMED_TUPLES

    def _note_import(self, node):
        if isinstance(node, ast.Import):
            for name in node.names:
                self.aliases[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else name.name.partition(".")[0])
                self.imported.append((node.lineno, name.name))
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                dotted = "" if node.level else f"{node.module}.{name.name}"
                self.aliases[name.asname or name.name] = dotted
                self.imported.append((node.lineno, dotted))

    def dotted(self):
        """(line, name) of what begins with an import of torch, and of texts that are such names."""
        yield from self.imported
        inner = {id(node.value) for node in self.nodes if isinstance(node, ast.Attribute)}
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                yield node.lineno, self._name_of(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _IS_DOTTED(node.value):
                yield node.lineno, node.value.replace(":", ".")

    def _name_of(self, node):
        """From an imported module or name on; "" for what begins otherwise."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self.aliases.get(node.id, "") if isinstance(node, ast.Name) else ""
        return ".".join([root, *reversed(parts)]) if root else ""

    def attributes(self, listed):
        """(line, name) of attributes that this file does not define, and of nobody's who is imported."""
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                if not (isinstance(node.value, ast.Name) and node.value.id in self.aliases) and not self._name_of(node):
                    yield node.lineno, node.attr
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in listed.attributes:
                yield node.lineno, node.value
            else:
                for text in _texts_asked(node):
                    yield node.lineno, text

    def uses(self, listed):
        """(line, name), sorted, of each private name of PyTorch."""
        return sorted(
            {use for use in self.dotted() if is_private(use[1])}
            | {use for use in self.attributes(listed) if _IS_PRIVATE(use[1]) and use[1] not in self.own})


def _defined(node):
    """The name that a node gives a meaning, or None."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        # Of its own objects; on others a name is set for who reads it.
        is_own = isinstance(node.value, ast.Name) and (node.value.id in ("self", "cls") or node.value.id[:1].isupper())
        return node.attr if is_own else None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__" else None
    return None


def _texts_asked(node):
    """Texts that are names of attributes in a call of getattr and its like, as keys, and where one asks whether it is
    among some."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _BY_TEXT:
        parts = node.args
    elif isinstance(node, ast.Subscript):
        parts = [node.slice]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    else:
        return
    yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def complaints(files):
    """Complaints, path:line: message, about files given as {path: text}."""
    listed = List(files)
    found = []
    for path, text in sorted(files.items()):
        if not (path.startswith(PACKAGE) and path.endswith(".py")):
            continue
        for line, name in Source(text).uses(listed):
            if not path.startswith(PLACE):
                found.append(f"{path}:{line}: {name} is private to PyTorch: only {PLACE} uses such names.")
            elif name != VERSION and not listed.has(name):
                found.append(f"{path}:{line}: {name} is not in {LIST}.")
    return found


if __name__ == "__main__":
    sys.exit(repository.report(complaints(repository.read_files(
        lambda path: path.startswith(PACKAGE)))))
