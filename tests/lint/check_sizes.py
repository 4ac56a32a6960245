#!/usr/bin/env python3
"""Product code stays small: folders, functions, and the files that a class is spread over.

What is more than a limit below is cut by what a reader would look for. Complaints go to standard output, one a line
as path:line: message, and the exit status is 1 if there is any.
"""

import ast
import re
import sys

import cpp_functions
import repository

PRODUCT = ("cache/", "client/", "compiler/", "daemon/", "protocol/", "runtime/")
MAX_FILES_OF_FOLDER = 25  # Those directly in it, README.md and CMakeLists.txt among them.
MAX_LINES_OF_FUNCTION = 60  # From its name's line, or the type before it, to its last brace.
MAX_FILES_OF_CLASS = 7  # Those that declare it or define its members.

CPP = re.compile(r"\.(cc|cpp|h|hpp|cu)$")


def check_folders(files):
    counts = {}
    for path in files:
        folder = path.rpartition("/")[0]
        counts[folder] = counts.get(folder, 0) + 1
    for folder, count in sorted(counts.items()):
        if count > MAX_FILES_OF_FOLDER:
            yield folder, 1, f"the folder holds {count} files; the limit is {MAX_FILES_OF_FOLDER}."


def check_functions(cpp, python):
    found = [(path, function.line, function.name, function.lines)
             for path, scanned in cpp.items() for function in scanned.functions]
    found += [(path, node.lineno, node.name, node.end_lineno - node.lineno + 1)
              for path, tree in python.items() for node in ast.walk(tree)
              if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for path, line, name, lines in sorted(found):
        if lines > MAX_LINES_OF_FUNCTION:
            yield path, line, f"function {name} has {lines} lines; the limit is {MAX_LINES_OF_FUNCTION}."


def check_classes(cpp):
    declared = {}  # Qualified name -> where.
    for path, scanned in cpp.items():
        for name, line in scanned.classes:
            declared.setdefault(name, []).append((path, line))
    spread = {name: {path for path, _ in places} for name, places in declared.items()}
    for path, scanned in cpp.items():
        for function in scanned.functions:
            for name in function.owners:
                if name in spread:
                    spread[name].add(path)
    for name, paths in sorted(spread.items()):
        if len(paths) > MAX_FILES_OF_CLASS:
            path, line = min(declared[name])
            yield path, line, f"class {name} is spread over {len(paths)} files; the limit is {MAX_FILES_OF_CLASS}."


def complaints(files):
    """All complaints about a repository given as {path: text}."""
    product = {path: text for path, text in sorted(files.items()) if path.startswith(PRODUCT)}
    cpp = {path: cpp_functions.scan(path, text) for path, text in product.items() if CPP.search(path)}
    python = {path: ast.parse(text) for path, text in product.items() if path.endswith(".py")}
    found = [*check_folders(product), *check_functions(cpp, python), *check_classes(cpp)]
    return [f"{path}:{line}: {message}" for path, line, message in found]


if __name__ == "__main__":
    sys.exit(repository.report(complaints(
        repository.read_files(lambda path: CPP.search(path) or path.endswith(".py")))))
