"""The code behind a trace: every function that Dynamo inlined, and what its code reads by name.

Guards trust that functions and classes stay what they are while the process lives. Between two processes
sources change, so a capture holds a digest of each piece of code that was traced, and what each chain of
global names in it (np.pi, F.gelu, helpers.scale) stands for. They are checked once, when a capture is
installed.
"""

import dis
import sys
import types

from .identity import code_digest
from .paths import COMPILER
from .values import NotPortable, look_up

_MAX_WRAPPERS = 16
_MISSING = object()
_LAZY = ["lazy"]


def code_facts(traced, describe, entry_code):
    """(codes, chains): [[path, digest]], [[module, names, description]]. NotPortable if a function that was
    traced is not found by its name."""
    modules = _Modules()
    codes, chains = {}, {}
    for code in {id(code): code for code in traced}.values():
        module = modules.of(code)
        if module is not None and module.__name__.startswith(COMPILER):
            continue
        if code is not entry_code and id(code) not in describe.covered:
            path, digest = _found_as(code, module)
            codes[path] = digest
        if module is not None:
            for names in sorted(_chains(code)):
                words = _describe_chain(module, names, describe)
                if words is not None and words != _LAZY:
                    chains[module.__name__, names] = words
    return (
        sorted(map(list, codes.items())),
        [[module, list(names), words] for (module, names), words in sorted(chains.items())])


def first_difference(codes, chains, describe):
    """(what, expected, found) of the first piece of code that is not what it was, or None."""
    for path, digest in codes:
        code = _find(path)
        found = "nothing" if code is None else code_digest(code)
        if found != digest:
            return f"code of {path}", digest, found
    for module_name, names, words in chains:
        module = sys.modules.get(module_name)
        found = None if module is None else _describe_chain(module, tuple(names), describe)
        if found not in (words, _LAZY):
            return f"{module_name}.{'.'.join(names)}", words, found
    return None


class _Modules:
    """Loaded modules by source file."""

    def __init__(self):
        self._by_file = {}
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str):
                self._by_file.setdefault(path, module)

    def of(self, code):
        return self._by_file.get(code.co_filename)


def _found_as(code, module):
    """(path, digest) of the function with this code, or of the outer one whose code contains it."""
    name = "" if module is None else code.co_qualname
    while name:
        path = f"{module.__name__}:{name}"
        found = _find(path)
        if found is code or _contains(found, code):
            return path, code_digest(found)
        name = name.rpartition(".<locals>.")[0]
    raise NotPortable("code that is not found under its name")


def _contains(outer, code):
    if outer is None:
        return False
    return any(
        constant is code or _contains(constant, code) for constant in outer.co_consts
        if isinstance(constant, types.CodeType))


def _find(path):
    """The code of the function under a path, below what wraps it."""
    module, _, name = path.partition(":")
    found = look_up(path)
    for _ in range(_MAX_WRAPPERS):
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, types.MethodType):
            found = found.__func__
        code = getattr(found, "__code__", None)
        if isinstance(code, types.CodeType) and code.co_qualname == name:
            return code
        inner = getattr(found, "__wrapped__", None) or _enclosed(found, name)
        if inner is None:
            return code if isinstance(code, types.CodeType) else None
        found = inner
    return None


def _enclosed(function, name):
    """The function of that qualified name in a closure: Dynamo itself wraps torch.nn.Module.__init__ so."""
    for cell in getattr(function, "__closure__", None) or ():
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        if isinstance(inner, types.FunctionType) and inner.__code__.co_qualname == name:
            return inner
    return None


def _chains(code):
    """Global names that the code reads, each with the attributes read from it."""
    chains, current = set(), ()
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            current = (instruction.argval,)
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and current:
            current = (*current, instruction.argval)
        elif name not in ("CACHE", "NOP", "EXTENDED_ARG", "PUSH_NULL"):
            current = ()
        if current:
            chains.add(current)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            chains |= _chains(constant)
    return chains


def _describe_chain(module, names, describe):
    """What the chain ends at if that is code or a module of code; None for data, which guards compare."""
    found = module
    for name in names:
        if not isinstance(found, types.ModuleType):
            return None
        owner, found = found, vars(found).get(name, _MISSING)
        if found is _MISSING:  # A builtin, a typing error, or a name that a lazy module will have.
            return _LAZY if hasattr(owner, "__getattr__") else None
    if isinstance(found, type):
        return ["class", f"{found.__module__}:{found.__qualname__}"]
    if isinstance(found, types.ModuleType) or callable(found):
        try:
            return describe(found)
        except NotPortable:
            return None
    return None
