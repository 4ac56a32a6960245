"""The layers of the Python package: which module may import which, and no circle between modules or folders.

An import inside a function, or of a name under TYPE_CHECKING, counts as one at the top: it delays what is read, and hides
no circle. So does importlib.import_module() of a name that is written out. Whoever imports a module is not taken to
import the packages around it, whose `__init__.py` runs first.
"""

import ast

PACKAGE = "client/python/stoker"

# A layer is the longest of these folders that a module is in, "" the package's own. It may import itself and what is
# named.
MAY_IMPORT = {
    "base": [],
    "libstoker": ["base"],
    "pytorch/names": [],
    "pytorch/versions": ["pytorch/names"],
    "pytorch": ["pytorch/names", "pytorch/versions", "base", "libstoker"],
    "pytorch/native": ["base", "libstoker", "pytorch"],
    "graph": ["base"],
    "aten_ops/rules": ["graph"],
    "aten_ops": ["graph", "aten_ops/rules"],
    "runtime": ["base", "libstoker", "pytorch", "pytorch/native", "graph"],
    "lowering/uncompiled": ["base", "libstoker", "pytorch", "graph", "aten_ops"],
    "lowering": ["base", "libstoker", "pytorch", "graph", "aten_ops", "runtime", "lowering/uncompiled"],
    "captures/bytecode": ["base"],
    "captures/words": ["base", "pytorch", "graph", "captures/bytecode"],
    "captures/premises": ["base", "pytorch", "captures/bytecode", "captures/words"],
    "captures/optimizers": ["base", "pytorch", "pytorch/native", "captures/words", "captures/premises"],
    "captures/check": [
        "base", "pytorch", "pytorch/native", "captures/bytecode", "captures/words", "captures/premises", "captures/optimizers"],
    "captures/store": ["base", "libstoker", "pytorch", "captures/words"],
    "captures/trust": ["base", "libstoker", "pytorch", "pytorch/names", "captures/store"],
    "captures/audit": ["base", "libstoker", "captures/words", "captures/store", "captures/trust"],
    "captures/record": [
        "base", "libstoker", "pytorch", "pytorch/names", "graph", "captures/bytecode", "captures/words", "captures/premises",
        "captures/optimizers", "captures/store", "captures/trust", "captures/audit"],
    "captures/install": [
        "base", "libstoker", "pytorch", "pytorch/names", "graph", "runtime", "lowering", "captures/words",
        "captures/check", "captures/optimizers", "captures/store", "captures/trust", "captures/audit"],
    "captures": [
        "base", "pytorch", "pytorch/names", "captures/store", "captures/trust", "captures/record", "captures/install"],
    "captures/trial": ["base", "libstoker", "pytorch", "pytorch/names", "captures", "captures/trust", "captures/install"],
    "": [
        "base", "libstoker", "pytorch", "pytorch/names", "runtime", "lowering", "lowering/uncompiled", "captures",
        "captures/audit", "captures/install", "captures/record"],
    "export_archive": ["libstoker", "pytorch", "pytorch/names", "lowering", "lowering/uncompiled"],
}


def complaints(files):
    """(path, line, message) of each, about a repository given as {path: text}."""
    imports = {
        path: sorted(set(_imports(path, text, files)))
        for path, text in sorted(files.items()) if path.startswith(f"{PACKAGE}/") and path.endswith(".py")}
    yield from _check_layers(imports)
    yield from _check_circles(imports, "modules import each other", lambda path: path)
    yield from _check_circles(imports, "folders import each other", lambda path: path.rpartition("/")[0])


def layer_of(path):
    """The layer of a module, or None."""
    inside = path.removeprefix(f"{PACKAGE}/").rpartition("/")[0]
    while inside and inside not in MAY_IMPORT:
        inside = inside.rpartition("/")[0]
    top_module = path.count("/") == PACKAGE.count("/") + 1
    return inside if inside or top_module else None


def _check_layers(imports):
    for path, targets in imports.items():
        layer = layer_of(path)
        if layer is None:
            yield path, 1, "the module's folder is in no layer."
            continue
        allowed = {layer, *MAY_IMPORT[layer]}
        for line, target in targets:
            if layer_of(target) not in allowed:
                yield path, line, f"{layer or 'the top of the package'} may not import {target}."


def _check_circles(imports, what, unit_of):
    """Each strongly connected set of units once, by a shortest way around."""
    edges = {}
    for path, targets in imports.items():
        for line, target in targets:
            if unit_of(target) != unit_of(path):
                edges.setdefault(unit_of(path), {}).setdefault(unit_of(target), (path, line))
    reported = set()
    for start in sorted(edges):
        circle = find_circle(edges, start)
        if circle and not reported & set(circle):
            reported |= set(circle)
            path, line = edges[circle[0]][circle[1]]
            yield path, line, f"{what}: " + " -> ".join(circle) + "."


def find_circle(edges, start):
    """A shortest way from `start` back to it, both ends named, or None."""
    ways = [[start]]
    seen = set()
    for way in ways:  # Grows while it is read: a breadth-first search.
        for unit in sorted(edges.get(way[-1], ())):
            if unit == start:
                return [*way, start]
            if unit not in seen:
                seen.add(unit)
                ways.append([*way, unit])
    return None


def _imports(path, text, files):
    """(line, path of a module of ours) of each import, wherever it stands."""
    package = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if not path.endswith("/__init__.py"):
        package.pop()
    for node in ast.walk(ast.parse(text, path)):
        for base, name in _names(node, package):
            target = _module(base, name, files)
            if target is not None and target != path:
                yield node.lineno, target


def _names(node, package):
    """(folders of what is imported, a name in it or None): of an import, or of a call of import_module."""
    if isinstance(node, ast.ImportFrom):
        base = (node.module or "").split(".") if node.module else []
        base = package[:len(package) - node.level + 1] + base if node.level else _folders(base)
        yield from ((base, name.name) for name in node.names)
    elif isinstance(node, ast.Import):
        yield from ((_folders(name.name.split(".")), None) for name in node.names)
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module", "__import__"):
        name = node.args[0] if node.args else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield _folders(name.value.split(".")), None


def _folders(parts):
    """Of an absolute name."""
    return [*PACKAGE.split("/")[:-1], *parts]


def _module(base, name, files):
    """The file that an import reads, or None if it is none of ours."""
    stem = "/".join(base)
    candidates = [f"{stem}/{name}.py", f"{stem}/{name}/__init__.py"] if name else []
    for path in (*candidates, f"{stem}.py", f"{stem}/__init__.py"):
        if path in files:
            return path
    return None
