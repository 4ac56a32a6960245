#!/usr/bin/env python3
"""Enforces the layout of the repository: what stands where, and who may include or import whom.

The rules are the tables below and in python_layering.py; there is no list of exceptions. Complaints go to
standard output, one a line as path:line: message, and the exit status is 1 if there is any.
"""

import re
import sys

import python_layering
import repository

TOP_FILES = {"CMakeLists.txt", "CMakePresets.json", "README.md", "dev"}
TOP_FOLDERS = {
    ".ci", "protocol", "cache", "compiler", "runtime", "client", "daemon", "docker", "tests"}

# A layer is the longest prefix here that a path has. It may include itself, less the layers inside it,
# and what is named, with the layers inside that.
MAY_INCLUDE = {
    "protocol/base": [],
    "protocol/tls": ["protocol/base"],
    "protocol/graph": ["protocol/base"],
    "protocol/guard": ["protocol/base", "protocol/graph"],
    "protocol/key": ["protocol/base", "protocol/graph", "protocol/guard"],
    "protocol/artifact": ["protocol/base", "protocol/graph", "protocol/guard", "protocol/key"],
    "protocol/wire": ["protocol/base", "protocol/graph", "protocol/guard", "protocol/key",
                      "protocol/artifact"],
    "protocol/manifest": ["protocol"],
    "cache": ["protocol"],
    "compiler": ["protocol", "compiler/timing", "compiler/machine", "compiler/ir", "compiler/analysis",
                 "compiler/transform", "compiler/schedule", "compiler/kernel", "compiler/codegen"],
    "compiler/timing": ["protocol"],
    "compiler/machine": ["protocol"],
    "compiler/ir": ["protocol", "compiler/machine"],
    "compiler/analysis": ["protocol", "compiler/machine", "compiler/ir"],
    "compiler/transform": ["protocol", "compiler/machine"],
    # What is a kernel, for any target.
    "compiler/schedule": ["protocol", "compiler/machine", "compiler/ir", "compiler/analysis"],
    # How it runs on one.
    "compiler/schedule/loops": ["protocol", "compiler/ir", "compiler/analysis"],
    "compiler/schedule/cpu": ["protocol", "compiler/machine", "compiler/ir", "compiler/analysis",
                              "compiler/schedule/loops"],
    "compiler/schedule/cuda": ["protocol", "compiler/machine", "compiler/ir", "compiler/analysis",
                               "compiler/schedule/loops"],
    # What and how, for the target that is asked for.
    "compiler/kernel": ["protocol", "compiler/machine", "compiler/ir", "compiler/schedule/cpu",
                        "compiler/schedule/cuda"],
    # The dispatcher, what the targets share, and what each emits.
    "compiler/codegen": ["protocol", "compiler/timing", "compiler/machine", "compiler/ir",
                         "compiler/kernel", "compiler/codegen/llvm", "compiler/codegen/x86",
                         "compiler/codegen/nvptx"],
    "compiler/codegen/llvm": ["protocol", "compiler/ir"],
    "compiler/codegen/llvm/math": ["protocol", "compiler/ir", "compiler/codegen/llvm"],
    "compiler/codegen/llvm/body": ["protocol", "compiler/ir", "compiler/codegen/llvm"],
    "compiler/codegen/x86": ["protocol", "compiler/timing", "compiler/machine", "compiler/ir",
                             "compiler/schedule/cpu", "compiler/codegen/llvm"],
    "compiler/codegen/nvptx": ["protocol", "compiler/timing", "compiler/machine", "compiler/ir",
                               "compiler/schedule/cuda", "compiler/codegen/llvm"],
    "runtime": ["protocol"],
    "client/include": [],
    "client/core": ["client/include", "protocol", "runtime"],
    "client/python": ["client/include"],
    "client/cli": ["client/include"],
    "client/examples": ["client/include"],
    "daemon": ["protocol", "cache", "compiler", "runtime"],
    "tests": ["protocol", "cache", "compiler", "runtime", "client", "daemon"],
}

# Third-party headers that only their owners' folders may include, directly or through a header of
# ours. `tests` may, to reach what it tests.
OWNERS = {
    "LLVM": (r"(llvm|llvm-c|lld)/", ["compiler/codegen"]),
    "CUDA": (r"(cuda|cuda_\w+|nvrtc|nvJitLink|cublas\w*|cudnn\w*)\.h$|cub/|thrust/",
             ["compiler/codegen/nvptx", "runtime/cuda"]),
    "RocksDB": (r"rocksdb/", ["cache"]),
    "Boost": (r"boost/", ["client/cli", "client/core", "daemon"]),
    "xxHash": (r"xxhash\.h$", ["runtime/cpu"]),
    "protobuf": (r"google/protobuf/|.*\.pb\.h$", ["protocol/wire"]),
}

SOURCE = re.compile(r"\.(cc|cpp|c|h|hpp|def|cu)$")
COMPILED = re.compile(r"\.(cc|cpp|c|cu)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path):
    """The layer a path belongs to, or None."""
    fitting = [layer for layer in MAY_INCLUDE if is_in(path, layer)]
    return max(fitting, key=len, default=None)


def is_in(path, folder):
    return path.startswith(folder + "/")


def folder_of(path):
    return path.rpartition("/")[0]


def families_of(header):
    """The names in OWNERS of a third-party header."""
    return {name for name, (pattern, _) in OWNERS.items() if re.match(pattern, header)}


class Tree:
    """The files of a repository, path -> text, and the includes between them."""

    def __init__(self, files):
        self.files = files
        # path -> [(line, target path of ours or third-party name, is ours)]
        self.includes = {}
        self.unresolved = []
        for path, text in sorted(files.items()):
            if SOURCE.search(path):
                self.includes[path] = list(self._read_includes(path, text))

    def _read_includes(self, path, text):
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            target = self._resolve(name)
            if target:
                yield number, target, True
            elif quote == '"' and not name.endswith(".pb.h"):
                self.unresolved.append(
                    (path, number, f'"{name}" is no file of ours, seen from the top folder.'))
            else:
                yield number, name, False

    def _resolve(self, name):
        """The file of ours that an include names; public headers are named as users name them."""
        for candidate in (name, "client/include/" + name):
            if candidate in self.files:
                return candidate
        return None

    def families(self, path):
        """Third-party families that `path` includes, directly or through our headers."""
        reached = {path}
        waiting = [path]
        found = set()
        while waiting:
            for _, target, ours in self.includes.get(waiting.pop(), ()):
                if not ours:
                    found |= families_of(target)
                elif target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return found


def check_places(tree):
    for path in sorted(tree.files):
        top, _, rest = path.partition("/")
        if not rest and top not in TOP_FILES and not top.startswith("."):
            yield path, 1, "the top folder holds nothing but what the layout names."
        elif rest and top not in TOP_FOLDERS:
            yield path, 1, f"folder '{top}' is not in the layout."
        elif SOURCE.search(path) and layer_of(path) is None:
            yield path, 1, "a source file belongs into a folder of the layout."


def check_layers(tree):
    for path, includes in tree.includes.items():
        layer = layer_of(path)
        if layer is None:
            continue
        for line, target, ours in includes:
            if not ours or layer_of(target) == layer:
                continue
            if not any(is_in(target, folder) for folder in MAY_INCLUDE[layer]):
                yield path, line, f"{layer} may not include {target}."


def check_owners(tree):
    for path, includes in tree.includes.items():
        for line, target, ours in includes:
            families = tree.families(target) if ours else families_of(target)
            for family in sorted(families):
                owners = OWNERS[family][1]
                if not any(is_in(path, folder) for folder in [*owners, "tests"]):
                    yield path, line, (
                        f"{target} brings in {family}, which only {' and '.join(owners)} may see.")


def check_cycles(tree):
    """Complains about each folder that includes, over other folders, itself."""
    edges = {}
    for path, includes in tree.includes.items():
        for line, target, ours in includes:
            if ours and folder_of(target) != folder_of(path):
                edges.setdefault(folder_of(path), {}).setdefault(
                    folder_of(target), (path, line))
    reported = set()
    for start in sorted(edges):
        cycle = python_layering.find_circle(edges, start)
        if cycle and frozenset(cycle) not in reported:
            reported.add(frozenset(cycle))
            path, line = edges[cycle[0]][cycle[1]]
            yield path, line, "folders include each other: " + " -> ".join(cycle) + "."


def check_source_lists(tree):
    for path, text in sorted(tree.files.items()):
        if path.endswith("CMakeLists.txt"):
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(r"file\s*\(\s*GLOB|aux_source_directory", line):
                    yield path, number, "sources are listed one by one, not found by pattern."
        elif COMPILED.search(path):
            folder, _, name = path.rpartition("/")
            listing = tree.files.get(f"{folder}/CMakeLists.txt", "")
            if not re.search(rf"(?<![\w./]){re.escape(name)}(?![\w.])", listing):
                yield path, 1, f"{folder}/CMakeLists.txt does not list it."


def complaints(files):
    """All complaints about a repository given as {path: text}."""
    tree = Tree(files)
    found = list(tree.unresolved)
    for check in (check_places, check_layers, check_owners, check_cycles, check_source_lists):
        found += check(tree)
    found += python_layering.complaints(files)
    return [f"{path}:{line}: {message}" for path, line, message in found]


def needs_text(path):
    return SOURCE.search(path) or path.endswith(("CMakeLists.txt", ".py"))


if __name__ == "__main__":
    sys.exit(repository.report(complaints(repository.read_files(needs_text))))
