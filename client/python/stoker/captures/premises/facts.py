"""The code behind a trace: every function that Dynamo inlined, and what its code reads by name.

Guards trust that functions and classes stay what they are while the process lives. Between two processes
sources change, so a capture holds a digest of each piece of code that was traced, what each chain of global names
in it and in what it refers to (np.pi, F.gelu, helpers.scale) stands for, and of each class that any of these refers
to. They are checked once, when a capture is installed.
"""

import functools
import sys
import types

from ...base.signals import let_through
from ...pytorch.operators import autocast_types, operator_of, python_functions
from ..bytecode.reads import ALL, code_inside, together
from ..words.held import held
from ..words.installed import is_pythons_file
from ..words.orders import sets_in
from ..words.plain_data import PlainData, is_code_like, method_words
from ..words.values import NotPortable, look_up, same_words
from .chains import ABSENT, LAZY, PARTLY, Mark, look_along
from .module_names import is_found, present_names

_MAX_WRAPPERS = 16
_AS_TEXTS = "texts"
_LAZY = ["lazy"]
_OF_FILE = "file of "
_ABSENT = ["absent"]
_DATA = ["data"]  # Guards compare it.


def facts_of(reached, modules, describe, texts, entry_code):
    """JSON. `reached`: a reach.Reached; `texts`: what code may ask one of the `modules` for, or ALL, besides what it asks
    of those that it imports. NotPortable for code that is not found by its name, or what has no words."""
    codes, chains = {}, []
    for code in reached.traced:
        if not (code is entry_code and _is_in_key(code, describe)) and id(code) not in describe.covered:
            path, digest = _found_as(code, reached.modules_of(code), describe)
            codes[path] = digest
    for (module, names), value in sorted(reached.chains.items(), key=lambda item: item[0]):
        words = _words_of_chain(sys.modules.get(module), names, value, describe)
        if words is not None and words != _LAZY:
            chains.append([module, list(names), words])
    asked = {}
    for module in modules if texts is ALL or texts else ():
        if not is_found(module):
            raise NotPortable("a module that is not found under its name")
        asked[module.__name__] = texts
    for name, names in (*reached.imports.items(), *reached.lazy_names):
        asked[name] = together((names, asked.get(name, frozenset())))
    return {
        "codes": sorted(map(list, codes.items())), "chains": chains,
        "operators": [[name, _operator_words(name, describe)] for name in sorted(reached.operators)],
        "classes": _classes_of(describe),
        "texts": texts if texts is ALL else sorted(texts),
        "modules": [
            [name, _AS_TEXTS if names == texts else names if names is ALL else sorted(names), present_names(name, names)]
            for name, names in sorted(asked.items())]}


def _operator_words(name, describe):
    """Of the Python functions that say what a custom operator gives."""
    operator = operator_of(name)
    return None if operator is None else [
        *(_or_why(lambda: describe(function)) for function in python_functions(operator) or ()), autocast_types(operator)]


def _classes_of(describe):
    """[[path, digest]] of the classes that descriptions refer to, and of those that these do."""
    found = {}
    while len(found) < len(describe.referred):
        for path, cls in sorted(describe.referred.items()):
            if path not in found:
                if look_up(path) is not cls:
                    raise NotPortable(f"a class that is not found under its name, {path}")
                found[path] = describe.class_words(cls)[1]
    return sorted(map(list, found.items()))


def first_difference(facts, describe):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for path, digest in facts["codes"]:
        code = _find(path)
        found = "nothing" if code is None else describe.code_digest(code)
        if found != digest:
            return f"code of {path}", digest, found
    for module_name, names, words in facts["chains"]:
        module = sys.modules.get(module_name)
        found = _or_why(
            lambda: None if module is None else _words_of_chain(module, names, look_along(module, names), describe))
        if found != _LAZY and not same_words(found, words):
            return f"{module_name}.{'.'.join(names)}", words, found
    for name, words in facts["operators"]:
        found = _operator_words(name, describe)
        if found != words:
            return f"operator {name}", words, found
    for name, names, present in asked_of_modules(facts):
        found = present_names(name, names)
        if found != present:
            return f"names in {name}", str(present), str(found)
    for path, digest in facts["classes"]:
        cls = look_up(path)
        found = _or_why(lambda: describe.class_words(cls)[1] if isinstance(cls, type) else "nothing")
        if found != digest:
            return f"class {path}", digest, found
    return None


def asked_of_modules(facts):
    """Yields (name of a module, names that it may be asked for, or ALL, those that were there)."""
    texts = ALL if facts["texts"] is ALL else frozenset(facts["texts"])
    for name, names, present in facts["modules"]:
        yield name, texts if names == _AS_TEXTS else names if names is ALL else frozenset(names), present


def _or_why(words_of):
    """What words_of() gives; why it has none: it is not portable, or the program's own methods raise something."""
    try:
        return words_of()
    except NotPortable as error:
        return str(error)
    except Exception as error:
        let_through(error)
        return repr(error)


def _words_of_chain(module, names, value, describe):
    """What a chain of names stands for, by value where the program put it into builtins, which no guard compares."""
    if isinstance(value, Mark) or module is None or names[0] in vars(module):
        return _words_of(value, describe)
    return ["builtin", PlainData(describe).words(value)]


def _words_of(value, describe):
    """What a chain of names stands for; None where that is said elsewhere."""
    if value is PARTLY:
        return None
    if value is ABSENT:
        return _ABSENT
    if value is LAZY:
        return _LAZY
    if isinstance(value, types.ModuleType):
        return describe(value)
    if is_code_like(value, describe):
        return method_words(value, describe)
    if callable(value):
        return ["callable", describe.refer_to(type(value))]
    return _DATA


def _is_in_key(code, describe):
    """Does the key's digest of the entry say all of it? It knows of no order, and of no lines."""
    return not (describe.lines or describe.orders and any(sets_in(each.co_consts) for each in code_inside(code)))


def _found_as(code, modules, describe):
    """(path, digest) of the function with this code, or of the outer one whose code contains it. `modules`: where it may
    be found."""
    for module in modules:
        name = code.co_qualname
        while name:
            path = f"{module.__name__}:{name}"
            found = _find(path)
            if found is code or _contains(found, code):
                return path, describe.code_digest(found)
            name = name.rpartition(".<locals>.")[0]
    for module in modules:
        path = f"{_OF_FILE}{module.__name__}:{code.co_qualname}"
        found = _find(path)
        if found is not None and describe.code_digest(found) == describe.code_digest(code):
            return path, describe.code_digest(found)
    raise NotPortable(f"code that is not found under its name, {code.co_qualname}")


def _contains(outer, code):
    if outer is None:
        return False
    return any(
        constant is code or _contains(constant, code) for constant in outer.co_consts
        if isinstance(constant, types.CodeType))


def _find(path):
    """The code of the function under a path, below what wraps it."""
    module, _, name = path.partition(":")
    if module.startswith(_OF_FILE):
        return _codes_in_file(module.removeprefix(_OF_FILE)).get(name)
    found = look_up(path)
    for _ in range(_MAX_WRAPPERS):
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, types.MethodType):
            found = found.__func__
        code = held(found, "__code__")
        if isinstance(code, types.CodeType) and code.co_qualname == name:
            return code
        inner = held(found, "__wrapped__") or _enclosed(found, name)
        if inner is None:
            return code if isinstance(code, types.CodeType) else None
        found = inner
    return None


@functools.cache
def _codes_in_file(module_name):
    """{qualified name: code} of the functions in a file of Python's own library: PyTorch traces a copy of the module without
    what is compiled in it (operator, heapq)."""
    module = sys.modules.get(module_name)
    spec = held(module, "__spec__")
    if spec is None or not spec.has_location or not is_pythons_file(spec.origin) or not hasattr(spec.loader, "get_code"):
        return {}
    return {code.co_qualname: code for code in code_inside(spec.loader.get_code(module_name))}


def _enclosed(function, name):
    """The function of that qualified name in a closure: Dynamo itself wraps torch.nn.Module.__init__ so."""
    for cell in held(function, "__closure__") or ():
        try:
            inner = cell.cell_contents
        except ValueError as error:
            let_through(error)
            continue
        if isinstance(inner, types.FunctionType) and inner.__code__.co_qualname == name:
            return inner
    return None
