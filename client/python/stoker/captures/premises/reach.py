"""The code that a frame may run, from the code that was traced.

Dynamo traces most of it and runs some: a method that compares two constants, a function whose result it takes for
constant. What it ran leaves no mark. So the code of a program's own functions and classes that traced code refers
to counts as if it had been traced, and what that refers to; of installed packages, which are versions of
themselves, the code that was traced.
"""

import enum
import functools
import sys
import types

from ...pytorch import installation
from ...pytorch.marks import COMPILER
from ..bytecode.reads import (
    asks_by_text, asks_for_hashes, asks_for_identity, calls_for_class, catches, chains_of, code_inside, compares_identity, enumerates,
    gives_its_hash_alone, has_no_order, imports_of, names_in_code, names_of, texts_in, texts_in_code, together)
from ..words import process
from ..words.held import HEAPTYPE, held, module_name_of, module_that_made
from ..words.installed import (
    is_frozen, is_installed, is_installed_function, is_installed_module, is_made_of_text, is_programs_class, is_pythons_file)
from ..words.orders import sets_in
from ..words.values import NotPortable
from ..words.versions import is_platforms_class, is_platforms_function
from .chains import ABSENT, LAZY, Mark, look_along
from .held_sets import Met, sets_of_classes, sets_of_defaults
from .modules import Modules
from .run_untraced import CONSTANTS, is_run, is_run_by_python, is_run_untraced, runs_for_members, wraps
from .unseen import cells_of, data_of, may_run, met_in

_MAX_CODES = 20_000
_MAX_WRAPPERS = 16
_MAX_NESTING = 8  # Of containers in containers.
_OF_ADDRESSES = frozenset((("id",), ("hash",)))  # The hash of most objects is made of their address.
_RUN_OF_ANY_CLASS = ("__class_getitem__", "__subclasshook__")  # Methods that Python calls by itself,
_RUN_WITH_A_CLASS = ("__init_subclass__", "__set_name__")  # and those that it calls when a class is made.
_OF_ANY_PROTOCOL = frozenset(("__init__", *_RUN_OF_ANY_CLASS, *_RUN_WITH_A_CLASS))
_OF_PYTHON = (types.GetSetDescriptorType, types.MemberDescriptorType)
_ANSWERS = ("__getattr__",)  # Of a module: for what it does not hold.
_RUN_OF_MODULES = ("__getattr__", "__dir__")


class Reached:
    """`codes`: what was traced, without PyTorch's compiler, and what that refers to. `chains`: {(module's name,
    names): what they stand for}."""

    def __init__(self, traced, places, left, leaves, met, scopes=()):
        """`places`, `scopes`: where in it Dynamo was, and with which globals, of pytorch.frames.Trace; `left`: code of other
        frames that goes on from where a function is left; `leaves`: functions that were run in place of being traced; `met`: guarded objects.
        NotPortable if there is more code than can be looked into."""
        self._places = places
        self._left = {(code.co_filename, code.co_firstlineno) for code in left}
        self.met = met
        self._modules = Modules(scopes)
        self.chains = {}
        self._pending, self._codes, self._classes = [], {}, set()
        self._programs = {}  # id of a code object -> whether it is no code of PyTorch's.
        self._functions = {}  # id of a code object -> the functions that have it,
        self._names_of = {}  # and the names by which classes, modules and cells hold these.
        self._leaves = set()  # Ids of code objects that a leaf may run.
        self.run_classes, self.run_functions = {}, []  # Class -> its functions that run in place of being traced; others.
        self._run_unseen = []  # Code of programs that Dynamo or an operator runs in place of tracing it.
        self._run_of_packages = []  # The same of installed packages.
        makes_classes = any(self._makes_class(code) for code in traced if not self.is_installed(code))
        self._run_of_any_class = (*_RUN_OF_ANY_CLASS, *(_RUN_WITH_A_CLASS if makes_classes else ()))
        self._in_place_of_pythons = [code for code in traced if self._is_compilers(code)]
        for code in traced:
            if not self._is_compilers(code):
                self._add(code)
        self.traced = list(self._codes.values())
        if any(self._modules.is_beside(code) and chains_of(code) for code in self.traced):
            raise NotPortable("code whose globals are no module's")
        self.operators = {leaf for leaf in leaves if isinstance(leaf, str)}  # Custom ones.
        for function in leaves:
            if not isinstance(function, str):
                self._add_leaf(function)
        for value in met:
            self._add_class(type(value))
            if isinstance(value, type) or is_run_untraced(value):
                self._add_value(value, None)
            if isinstance(value, types.ModuleType):
                self._add_module(value)
        self._look_into_all()
        self._look_into_unseen()

    def _makes_class(self, code):
        return calls_for_class(code) or any(
            isinstance(value, type) and issubclass(value, type) for _, _, value in self.read_by(code))

    def _look_into_all(self):
        while self._pending:
            self._look_into(self._pending.pop())

    def _look_into_unseen(self):
        """Sets `met_unseen`, [Met] of all that code may come to which may run in place of being traced."""
        known, self._unseen = None, []
        while self._run_unseen and known != (len(self._unseen), len(self._codes)):
            known = len(self._unseen), len(self._codes)
            self._unseen = may_run(
                self._run_unseen, [code for code in self.of_programs if not self.is_installed(code)],
                self._names_of, names_in_code)
            for met in self._met_by_unseen():
                self._add_value(met.value, met.name)
                if not is_installed(type(met.value)):
                    self._add_class(type(met.value))
            self._look_into_all()
        self.met_unseen = self._met_by_unseen()

    def _read_unseen(self):
        return {
            (module.__name__, names) for code in self._unseen for module in self._modules.of(code) for names in chains_of(code)}

    def _met_by_unseen(self):
        if not self._unseen:
            return []
        functions = [function for code in self._unseen for function in self._functions.get(id(code), ())]
        return met_in([
            *(Met(key[1][-1], False, value) for key in self._read_unseen() if not isinstance(
                value := self.chains[key], Mark)),
            *(met for cls in self._classes for met in data_of(cls)),
            *(met for function in functions for met in cells_of(function)),
            *(Met(name, True, value) for function in functions for name, value in sets_of_defaults(function))])

    def modules_of(self, code):
        """Those in which it runs."""
        return self._modules.of(code)

    def is_installed(self, code):
        return self._modules.is_installed(code)

    def value_of(self, code, name):
        """What a global name in the code stands for; None if that is not known, or not one value."""
        found = [self.chains.get((module.__name__, (name,))) for module in self._modules.of(code)]
        return found[0] if found and all(value is found[0] for value in found) else None

    @property
    def values(self):
        """What code comes to: what its globals hold, and what guards are about, whatever name leads there."""
        return [*self.chains.values(), *self.met]

    @property
    def classes(self):
        """Those that the code's globals hold, also in containers."""
        return set().union(*(_classes_in(each) for each in self.chains.values()))

    @property
    def modules(self):
        """Those that the code's globals hold."""
        return {value for value in self.chains.values() if isinstance(value, types.ModuleType)}

    @property
    def all_classes(self):
        """Of all that code comes to, what these inherit from, and what made them."""
        found = self._classes.union(*(_classes_in(value, of_objects=True) for value in self.values))
        return {base for cls in found for kind in (cls, type(cls)) for base in kind.__mro__}

    @property
    def module_names(self):
        """Of all that code comes to, and is in."""
        found = {name for name, _ in self.chains} | {module_that_made(each) for each in self.all_classes}
        found |= {module.__name__ for code in self.codes for module in self._modules.of(code)}
        found |= {module_name_of(value) for value in self.values if isinstance(value, (types.FunctionType, types.ModuleType))}
        return {name for name in found if isinstance(name, str)}

    @property
    def imports(self):
        """{name of a module that code of the program imports on its way: names in that code, or ALL}."""
        found = {}
        for code in self.of_programs:
            packages = {held(module, "__package__") or "" for module in self._modules.of(code)} or {""}
            for imported in set().union(*(imports_of(code, package) for package in packages)):
                found[imported] = together((names_of(code, is_pytorchs=False), found.get(imported, frozenset())))
        return found

    @property
    def imported(self):
        """Names of the modules that Dynamo imported where it came to that, and of those that code may take from packages."""
        return set().union(*(
            imports_of(code, held(self._modules.of(code), "__package__") or "", self.traced_in(code)) for code in self.traced))

    @property
    def lazy_names(self):
        """[(name of a module, {a name})] of those that a lazy module of a package makes when it is asked, or does not."""
        found = []
        for (module, names), value in self.chains.items():
            owner = look_along(sys.modules.get(module), names[:-1]) if value is LAZY else None
            if isinstance(owner, types.ModuleType):
                found.append((owner.__name__, frozenset(names[-1:])))
        return found

    @property
    def asked_by_programs(self):
        """Names of the modules that code of the program itself has as values, imports on its way, or asks for what is not there."""
        found = set().union(*(
            imports_of(code, package) for code in self.of_programs if not self.is_installed(code)
            for package in {held(module, "__package__") or "" for module in self._modules.of(code)}))
        for (module, names), value in self.chains.items():
            if not is_installed_module(sys.modules.get(module)):
                owner = look_along(sys.modules.get(module), names[:-1]) if value is LAZY else value
                if isinstance(owner, types.ModuleType):
                    found.add(owner.__name__)
        return found

    def asks_for_hashes(self, texts):
        """`texts`: constants of the trace. A usual __hash__, as members of enumerations and data classes have that are keys, lets
        it out to what looks things up alone; so do Python's own."""
        asking = [
            code for code in self.of_programs if not (code.co_name == "__hash__" and is_pythons_file(code.co_filename))]
        if "__hash__" in texts or any(asks_for_hashes(code) for code in asking):
            return True
        is_usual = any(hash.__name__ in code.co_names for code in self.of_programs)  # Of such a one alone, by now.
        return (hash.__name__ in texts or not is_usual) and any(value is hash for value in self.values)

    def asked_of_the_process(self, texts):
        """Names of builtins that traced code of programs calls, and whose answer is the process's own and folded in.
        `texts`: constants of the trace. What Python's own library asks (how deep may this nest?) is its own affair."""
        found, pythons = set(), set()
        for code in self.of_programs:
            named = texts_in_code(code).union(*(each.co_names for each in code_inside(code)))
            (pythons if is_pythons_file(code.co_filename) else found).update(process.NAMES & named)
        found |= process.NAMES & texts - pythons
        for code in self.traced:
            if not self.is_installed(code) and not gives_its_hash_alone(code):
                for names, value in self._chains_read(code):
                    if names in _OF_ADDRESSES and value is ABSENT:
                        found.add(names[0])
                    if process.is_of_process(value):
                        found.add(value.__name__)
        return found

    @property
    def of_programs_by_name(self):
        """Classes, functions and modules of the program, and of installed packages, that code comes to."""
        functions = [function for each in self._functions.values() for function in each]
        return [*self._classes, *functions, *self.modules]

    @property
    def classes_of_programs(self):
        """All that are reached, and their bases."""
        return {base for cls in self._classes for base in cls.__mro__ if is_programs_class(base)}

    @property
    def has_modules_that_answer(self):
        return any(names == _ANSWERS and value is not ABSENT for (_, names), value in self.chains.items())

    @property
    def codes(self):
        return self._codes.values()

    def names(self):
        """What the code may read by name."""
        return together((*(names_of(code, not self._is_programs(code)) for code in self.codes), self._asked_by_protocols()))

    def _asked_by_protocols(self):
        """Names of attributes that a protocol, asked about an object, looks for in it."""
        protocols = {base for cls in self.classes for base in cls.__mro__ if held(base, "_is_protocol")}
        return {
            name for base in protocols for name in (
                *(name for name, value in vars(base).items() if isinstance(value, (types.FunctionType, property))),
                *(held(base, "__annotations__") or ())) if name not in _OF_ANY_PROTOCOL}

    @property
    def asks_by_text(self):
        """May it read what bears a name that comes to it as a value?"""
        return bool(self.asking_by_text())

    def asking_by_text(self):
        """[(code, is it PyTorch's)] of what may do that."""
        found = [(code, not self._is_programs(code)) for code in self.codes]
        return [each for each in found if asks_by_text(*each)]

    @property
    def enumerates(self):
        """May code of the program go through the attributes of something?"""
        return any(enumerates(each) for each in self.of_programs)

    @property
    def catches(self):
        """May code of the program go on after something was not found, or what the compiler has in the place of Python's?"""
        return any(catches(each) for each in (*self.of_programs, *self._in_place_of_pythons))

    @property
    def compares_identity(self):
        """May code of the program ask whether two values are one object?"""
        return any(asks_for_identity(each) for each in self.values) or any(compares_identity(each) for each in self.of_programs)

    def run_in(self, code):
        """The places of it that run; None where all of it counts: a program's own functions are run for their results, too,
        and what a graph's break leaves goes on with the sets that it made."""
        places = self.traced_in(code)
        is_known = self.is_installed(code) and not (
            id(code) in self._leaves or self._is_left(code) or any(code is each for each in self.untraced_of_packages))
        return places if is_known and not places.isdisjoint(code.co_positions()) else None

    def traced_in(self, code):
        """Where Dynamo was in its file."""
        return self._places.get(code.co_filename, frozenset())

    def _is_left(self, code):
        return bool(self._left) and any((code.co_filename, line) in self._left for _, _, line in code.co_lines())

    @functools.cached_property
    def untraced_of_packages(self):
        """Code of installed packages, but Python's and PyTorch's, that may run in place of being traced, and what it calls."""
        found, pending = {}, list(self._run_of_packages)
        while pending:
            code = pending.pop()
            if id(code) in found or _is_pythons(code) or not self._is_programs(code):
                continue
            found[id(code)] = code
            for _, _, value in self.read_by(code):
                if isinstance(value, types.FunctionType) and is_installed_function(value):
                    self._modules.add(value.__code__, value.__globals__)
                    pending.append(value.__code__)
        return list(found.values())

    def read_by(self, code):
        """[(module, chain of names, what it stands for)]"""
        return [(module, names, look_along(module, names)) for module in self._modules.of(code) for names in chains_of(code)]

    def _chains_read(self, code):
        """The same, of those that are known by now."""
        return [
            (names, self.chains.get((module.__name__, names))) for module in self._modules.of(code) for names in chains_of(code)]

    def sets_of_package(self, code):
        """[Met] of sets that code which is not traced reads, in containers, too."""
        return self.sets_read(code) + [
            Met(names[-1], False, inner) for _, names, value in self.read_by(code) for inner in sets_in(value)]

    def sets_read(self, code):
        """[Met] of sets that its globals hold, classes under names in it, and its arguments by default."""
        found = [
            Met(name, True, value) for function in self._functions.get(id(code), ())
            for name, value in sets_of_defaults(function)]
        for name in {name for each in code_inside(code) for name in each.co_names}:
            found += [Met(name, False, value) for value in self._sets_of_classes.get(name, ())]
        return found + [Met(names[-1], False, value) for names, value in self._chains_read(code) if has_no_order(value)]

    @property
    def globals_of_programs(self):
        """Those of the chains that code of the program reads."""
        modules = {module.__name__ for code in self.of_programs for module in self._modules.of(code)}
        return {chain: value for chain, value in self.chains.items() if chain[0] in modules}

    def is_unseen(self, code):
        """May it run in place of being traced?"""
        return any(code is each for each in self._unseen)

    @property
    def own_names(self):
        """Names under which the program's own functions, and what else it made, stand in classes and modules."""
        named = {name for code in self.of_programs for name in (code.co_name, *self._names_of.get(id(code), ()))}
        inner = {each.co_name for code in self.of_programs for each in code_inside(code)}
        return named | inner | {
            name for cls in self._classes for base in cls.__mro__ for name, value in vars(base).items()
            if type(value).__flags__ & HEAPTYPE}

    @property
    def descriptors(self):
        """Names of attributes that code of a class stores."""
        return {
            name for cls in self._classes for base in cls.__mro__ for name, value in vars(base).items()
            if held(type(value), "__set__") is not None and not isinstance(value, _OF_PYTHON)}

    @functools.cached_property
    def _sets_of_classes(self):
        return sets_of_classes(self._classes)

    @property
    def of_programs(self):
        """Code of the program, and of installed packages."""
        return [each for each in self.codes if self._is_programs(each)]

    def _is_programs(self, code):
        """Or an installed package's, but not PyTorch's."""
        if id(code) not in self._programs:
            self._programs[id(code)] = installation.place_of(code) is None
        return self._programs[id(code)]

    def texts(self):
        """Texts in the code, or that its globals hold, that may be names."""
        return set().union(*(texts_in_code(each) for each in self.codes), *(texts_in(each) for each in self.chains.values()))

    def _is_compilers(self, code):
        return any(module.__name__.startswith(COMPILER) for module in self._modules.of(code))

    def _add(self, code):
        if id(code) in self._codes:
            return
        if len(self._codes) >= _MAX_CODES:
            raise NotPortable(f"a frame whose code refers to more than {_MAX_CODES} functions")
        self._codes[id(code)] = code
        self._pending.append(code)

    def _look_into(self, code):
        for module in self._modules.of(code):
            self._add_answers(module)
            for names in chains_of(code):
                if (module.__name__, names) not in self.chains:
                    value = self._add_chain(module, names)
                    if id(code) in self._leaves and isinstance(value, types.FunctionType):
                        self._add_leaf(value)

    def _add_chain(self, module, names):
        value = look_along(module, names)
        self.chains[module.__name__, names] = value
        self._add_classes_in(value)
        self._add_value(value, names[-1])
        if isinstance(value, types.ModuleType):
            self._add_module(value)
        return value

    def _add_answers(self, module):
        if sys.modules.get(module.__name__) is module and not is_installed_module(module) and (
                module.__name__, _ANSWERS) not in self.chains:
            self._add_chain(module, _ANSWERS)

    def _add_module(self, module):
        """That code has as a value, and may ask for what it does not hold."""
        self._add_answers(module)
        for name in _RUN_OF_MODULES if not is_installed_module(module) else ():
            if isinstance(function := vars(module).get(name), types.FunctionType):
                self._add_leaf(function)
            elif function is not None:
                raise NotPortable("a module that answers by no function")

    def _add_value(self, value, name):
        is_run = False
        for _ in range(_MAX_WRAPPERS):
            is_run = is_run or is_run_untraced(value)
            if isinstance(value, type):
                self._add_class(value)
                return
            if isinstance(value, types.FunctionType):
                self._add_function(value, name)
                if is_run and not is_platforms_function(value):
                    self._add_leaf(value)
            value = held(value, "__func__") or held(value, "__wrapped__")
            if value is None:
                return

    def _add_leaf(self, function):
        """Of an installed package, too: a program may have put something else in the place of what it calls."""
        self._leaves.add(id(function.__code__))
        self._modules.add(function.__code__, function.__globals__)
        self._add(function.__code__)
        if is_made_of_text(function):
            self.run_functions.append(function)
        if is_installed_function(function):
            self._run_of_packages.append(function.__code__)
        if not is_platforms_function(function):
            self._run_unseen.append(function.__code__)
            self.run_functions.append(function)
            self._add_function(function, function.__name__)

    def _add_function(self, function, name):
        """`name`: under which it is held there."""
        self._names_of.setdefault(id(function.__code__), set()).add(name)
        if not self._is_new(function) or is_installed_function(function):
            return
        self._modules.add(function.__code__, function.__globals__)
        self._add(function.__code__)
        for met in cells_of(function):
            if isinstance(met.value, types.FunctionType):
                self._add_function(met.value, met.name)
            self._add_classes_in(met.value)
        self._add_classes_in((function.__defaults__, function.__kwdefaults__))

    def _add_classes_in(self, value):
        """Classes of programs whose objects, or which themselves, may run code of theirs."""
        for cls in _classes_in(value, of_objects=True):
            own = [each for each in cls.__mro__ if is_programs_class(each)]
            if own and (issubclass(cls, CONSTANTS) or type(cls) is not type or any(
                    name in vars(base) for base in own for name in self._run_of_any_class)):
                self._add_class(cls)

    def _is_new(self, function):
        known = self._functions.setdefault(id(function.__code__), [])
        if any(function is each for each in known):
            return False
        known.append(function)
        return True

    def _add_class(self, cls):
        if cls in self._classes:
            return
        self._classes.add(cls)
        if not is_installed(cls):
            self._add_classes_in(tuple(vars(cls).values()))
            if isinstance(cls, enum.EnumMeta) and runs_for_members(cls):
                self.run_classes.setdefault(cls, [])
        is_constant = issubclass(cls, CONSTANTS)
        for base, is_computed_with in (*((base, is_constant) for base in cls.__mro__), *((base, True) for base in type(cls).__mro__)):
            for name, value in list(vars(base).items()):
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                parts = [value.fget, value.fset, value.fdel] if isinstance(value, property) else [value]
                if is_computed_with and is_run_by_python(name) or name in self._run_of_any_class:
                    self._add_run(cls, parts)
                for part in parts:
                    if isinstance(part, types.FunctionType):
                        self._add_function(part, name)

    def _add_run(self, cls, parts):
        """What Python runs under the name of a special method."""
        for part in parts:
            if isinstance(part, types.FunctionType) and is_installed_function(part):
                self._modules.add(part.__code__, part.__globals__)
                self._run_of_packages.append(part.__code__)
            if isinstance(part, types.FunctionType) and is_platforms_function(part) and not (
                    is_made_of_text(part) and not is_installed(cls)):
                if not is_installed(cls) and wraps(part):
                    self.run_classes.setdefault(cls, [])
            elif isinstance(part, types.FunctionType):
                self._add(part.__code__)
                self._run_unseen.append(part.__code__)
                self.run_classes.setdefault(cls, []).append(part)
            elif not is_platforms_class(cls) and is_run(part):
                self.run_classes.setdefault(cls, [])


def _classes_in(value, depth=0, of_objects=False):
    """`of_objects`: of anything else, its class."""
    kind = type(value)
    if isinstance(value, type):
        return {value}
    if kind is types.UnionType:
        value, kind = value.__args__, tuple
    if kind is dict:
        value, kind = (*value, *value.values()), tuple
    if kind not in (tuple, list, set, frozenset) or depth == _MAX_NESTING:
        return {kind} if of_objects else set()
    return set().union(*(_classes_in(item, depth + 1, of_objects) for item in value))


def _is_pythons(code):
    return is_pythons_file(code.co_filename) or is_frozen(code)
