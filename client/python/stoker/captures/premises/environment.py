"""What code may read outside of the program's objects: environment variables, which rank this is, hashes and the order
of sets, which the seed of hashes decides, and which packages and modules there are.
"""

import collections
import importlib.machinery
import os
import pathlib
import re
import sys
import types

from ...base.signals import let_through
from ...pytorch.state import rank
from ..bytecode.reads import ALL, code_inside, is_ordered_by_address, keys_read, names_of
from ..words.digests import digest_of
from ..words.held import held, module_name_of
from ..words.installed import is_frozen, is_installed_file, is_pythons_file
from ..words.paths import ROOT, is_librarys
from ..words.plain_data import own_attributes
from ..words.process import is_run_for_its_result
from ..words.values import NotPortable, encode
from ..words.versions import versions_now
from . import settings
from .held_sets import Met, parts_of

_MAPPINGS = ("environ", "environb")
_FUNCTIONS = ("getenv", "getenvb")
_OF_SLOTS = (types.WrapperDescriptorType, types.MethodWrapperType)
_NAMES = frozenset((*_MAPPINGS, *_FUNCTIONS))
_HASHED = "stoker"
_DISTRIBUTED = "torch.distributed"
# What is asked there follows from which packages are installed; of a module by itself, from where it is looked for.
_OF_PACKAGES = ("importlib.metadata", "importlib.resources", "importlib_metadata", "importlib_resources", "pkg_resources")
# Attributes of a module's spec that say where it is.
_PLACES = frozenset(("origin", "submodule_search_locations", "cached", "has_location", "loader_state"))
_OF_SPECS = frozenset(vars(importlib.machinery.ModuleSpec("some", None))) | {"_initializing"}
_MISSING, _ERROR, _NOT_LOADED = "not there", "an error to ask for", "in a package that is not loaded"
_RELATIVE = re.compile(r"\.+\w+(\.\w+)*")
_ASKING = ("importlib.metadata", "importlib.util")
_OF_MODULES = ("importlib.util", "importlib._bootstrap", "importlib.machinery", "_frozen_importlib", "pkgutil")


def environment_of(reached, texts, nodes, values, trace, described, shown):
    """JSON. `reached`: a reach.Reached; `texts`: what may name a variable; `nodes`, `values`: of guarded objects; `trace`: a
    pytorch.frames.Trace; `described`: names of the process's functions that descriptions hold; `shown`: of shown_sets().
    NotPortable where code makes names, or reads them from what it does not call the environment."""
    constants = trace.texts
    readers = [
        code for outer in reached.codes for code in code_inside(outer) if not _NAMES.isdisjoint(code.co_names)]
    variables = texts.union(*(_variables_read(code, reached) for code in readers if not _is_of_os(code)))
    met = [(names[-1], value) for (_, names), value in reached.chains.items()]
    met += [(argument, value) for (_, _, argument), value in zip(nodes, values)]
    if any(_is_environment(value) and name not in _NAMES for name, value in met):
        raise NotPortable("environment variables under another name")
    asked = sorted(reached.asked_of_the_process(constants).union(
        described, (value.__name__ for place, value in enumerate(values) if is_run_for_its_result(value) and not is_librarys(
            nodes, place)),
        _of_addresses(reached, nodes, values)))
    if asked:
        raise NotPortable(f"what only this process can say, {asked[0]}()")
    for factory in (_factory_of(each) for each in values):
        if _is_of_c(factory):
            raise NotPortable(f"a dictionary whose items {held(factory, '__name__')} makes, of which code says nothing")
    makes_sets, sets = shown
    asks_for_modules = _asks_of(reached, _OF_MODULES)
    asks_for_places = asks_for_modules and _asks_for_places(reached, constants)
    asks_for_packages = asks_for_modules or _asks_of(reached, _OF_PACKAGES)
    if any(is_ordered_by_address(each) for each in sets):
        raise NotPortable("a set of objects, which addresses order")
    return {
        "variables": [[name, os.environ.get(name)] for name in sorted(variables)] if readers else [],
        "packages": versions_now() if asks_for_packages else None,
        "modules": [
            [name, _spec_words(name, asks_for_places)] for name in sorted(_module_names(texts, constants))] if asks_for_modules else [],
        "places": asks_for_places,
        "finders": _finders() if asks_for_packages else None,
        "replaced": _replaced() if asks_for_packages else None,
        "hash": hash(_HASHED) if makes_sets or sets or reached.asks_for_hashes(constants) else None,
        "rank": rank() if any(_asks_for_ranks(each) for each in reached.values) else None,
        "settings": settings.settings(),
        "codecs": settings.codecs_of(reached, texts | constants, trace.meets_bytes)}


def _factory_of(value):
    """What a dictionary calls for an item that is not there; None for all other values."""
    is_default = isinstance(value, collections.defaultdict)
    return collections.defaultdict.default_factory.__get__(value) if is_default else None


def _is_of_c(factory):
    """Does Dynamo run it, in place of tracing it, with nothing that tells what it gives?"""
    return factory is not None and not isinstance(factory, (type, types.FunctionType, types.MethodType))


def first_difference(words):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for name, expected in words["variables"]:
        if os.environ.get(name) != expected:
            return f"os.environ[{name!r}]", str(expected), str(os.environ.get(name))
    if words["packages"] is not None and versions_now() != words["packages"]:
        return "installed packages", "those that were", "others"
    for name, expected in words["modules"]:
        if (found := _spec_words(name, words["places"])) != expected:
            return f"module {name}", str(expected), str(found)
    if words["replaced"] is not None and _replaced() != words["replaced"]:
        return "what asks for packages and modules", str(words["replaced"]), str(_replaced())
    if words["finders"] is not None and _finders() != words["finders"]:
        return "sys.meta_path", "finders that were there", "others"
    if words["hash"] is not None and hash(_HASHED) != words["hash"]:
        return "the seed of hashes", "that of another process", "another"
    if words["rank"] is not None and rank() != words["rank"]:
        return "torch.distributed", str(words["rank"]), str(rank())
    return settings.first_difference(words["settings"], words["codecs"])


def _variables_read(code, reached):
    """Names that are no identifiers, too."""
    keys = keys_read(code, _MAPPINGS, _FUNCTIONS)
    if keys is None:
        raise NotPortable("environment variables whose names are made")
    constants, names = keys
    values = {*constants, *(reached.value_of(code, name) for name in names)}
    return {os.fsdecode(value) for value in values if isinstance(value, (str, bytes))}


def _of_addresses(reached, nodes, values):
    """Names of functions that tell addresses, and that code comes to under another name."""
    met = [Met(names[-1], False, value) for (_, names), value in reached.chains.items()] + reached.met_unseen + [
        Met(argument, False, value) for (parent, _, argument), value in zip(nodes, values)
        if parent == ROOT or nodes[parent][1] != "builtins"]
    return {name for each in met for part in parts_of(each) if (name := _told_by(part)) is not None}


def _told_by(met):
    if isinstance(met.value, (*_OF_SLOTS, types.FunctionType, types.MethodType)):
        return "hash" if held(met.value, "__name__") == "__hash__" != met.name else None
    return next((each.__name__ for each in (hash, id) if met.value is each), None)


def _is_environment(value):
    return any(value is getattr(os, name) for name in _NAMES)


def _is_of_os(code):
    """Of the module os: its callers give the names."""
    return code.co_filename in (os.__file__, os.getenv.__code__.co_filename)


def _asks_of(reached, modules):
    """Does code of the program ask one of these? Of installed packages, what was traced."""
    imported = {name for name in reached.imports if name.startswith(modules)}
    return bool(imported) or any(module_name_of(value).startswith(modules) for value in reached.values)


def _asks_for_places(reached, constants):
    """May code ask a specification where a module lies? Python's own does for any import; a package's says so."""
    said = [
        (not reached.is_installed(code), names_of(code, is_pytorchs=False)) for code in reached.of_programs
        if not (is_pythons_file(code.co_filename) or is_frozen(code))]
    return not _PLACES.isdisjoint(constants) or any(
        is_own if names is ALL else not _PLACES.isdisjoint(names) for is_own, names in said)


def _module_names(texts, constants):
    """Texts that may name a module, or would together with another one that names its package."""
    names = texts | {text for text in constants if all(part.isidentifier() for part in text.split("."))}
    relative = [text for text in texts | constants if _RELATIVE.fullmatch(text)]
    packages = [name for name in names if hasattr(sys.modules.get(name), "__path__")] if relative else []
    return names | {_absolute(name, package) for name in relative for package in packages}


def _absolute(name, package):
    own = name.lstrip(".")
    parts = package.split(".")
    return ".".join((*parts[:len(parts) - (len(name) - len(own) - 1)], own))


def _spec_words(name, with_places):
    """Of what importlib.util.find_spec gives for a module. NotPortable where a program has put something into it."""
    spec = _spec_of(name)
    if isinstance(spec, str):
        return spec
    locations, loader = held(spec, "submodule_search_locations"), held(spec, "loader")
    words = [held(spec, "name"), held(type(loader), "__qualname__"), locations is not None]
    if type(spec) is not importlib.machinery.ModuleSpec or not _OF_SPECS.issuperset(own_attributes(spec)):
        raise NotPortable(f"what a program has put into the specification of a module, {name}")
    if not with_places:
        return words
    state = held(spec, "loader_state")
    if type(state) is types.SimpleNamespace:  # Of a module that is part of the interpreter.
        state = sorted(vars(state).items())
    found = [str(each) if isinstance(each, pathlib.PurePath) else each for each in locations or ()]
    return [*words, held(spec, "origin"), encode(state), [type(each).__name__ for each in locations or ()], encode(found)]


def _spec_of(name):
    """_MISSING if there is no such module, _ERROR where it has no spec, or its package no path. Nothing is imported: a package
    of the program's might change where it is looked for."""
    if name in sys.modules:
        module = sys.modules[name]  # None where its import is forbidden.
        return _MISSING if module is None else held(module, "__spec__") or _ERROR
    path, found = None, None
    parts = name.split(".")
    for count, part in enumerate(parts, 1):
        loaded = ".".join(parts[:count])
        if loaded in sys.modules:  # A package, whose path a program may have changed.
            if (path := held(sys.modules[loaded], "__path__")) is None:
                return _ERROR
            continue
        try:
            found = importlib.machinery.PathFinder.find_spec(part, path)
        except (ImportError, ValueError) as error:
            let_through(error)
            return _MISSING
        if found is None or (path := found.submodule_search_locations) is None:
            break
        if count < len(parts) and found.origin is not None and not is_installed_file(found.origin):
            return _NOT_LOADED
    return found if found is not None and found.name == parts[-1] else _MISSING


def _finders():
    """What else than Python's path may find a module: the importers of packages that are installed for editing, hooks.
    NotPortable where it is the program's."""
    classes = [finder if isinstance(finder, type) else type(finder) for finder in sys.meta_path]
    return [[f"{cls.__module__}.{cls.__qualname__}", *_file_words(cls)] for cls in classes]


def _file_words(finder):
    """Of a finder's own file, which says what it finds."""
    module = finder.__module__
    if module.partition(".")[0] in sys.stdlib_module_names:
        return
    path = held(sys.modules.get(module), "__file__")
    if not isinstance(path, str) or not is_installed_file(path):
        raise NotPortable(f"modules that a finder of the program's may know, {module}.{finder.__qualname__}")
    with open(path, "rb") as file:
        yield digest_of(file.read())


def _replaced():
    """Functions of Python's that ask for packages and modules, and in whose place a program has put others."""
    found = []
    for module in filter(None, (sys.modules.get(each) for each in _ASKING)):
        for owner in (module, *(value for value in vars(module).values() if isinstance(value, type))):
            found += [
                f"{owner.__name__}.{name}" for name, value in list(vars(owner).items())
                if (code := held(held(value, "__func__") or value, "__code__")) is not None
                and not is_installed_file(code.co_filename)]
    return sorted(found)


def _asks_for_ranks(value):
    return module_name_of(value).startswith(_DISTRIBUTED)
