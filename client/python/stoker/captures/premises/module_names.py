"""What modules hold under names that code may ask them for."""

import sys
import types

from ...pytorch.operators import operators_in
from ..bytecode.reads import ALL
from ..words.held import held
from ..words.installed import is_installed_function, is_installed_module
from ..words.versions import is_packages

_OPERATORS = "torch.ops."  # Modules that are namespaces of operators, and no modules of a file.
_ANSWERED = "__getattr__ of the program"
_OF_PYTORCH = frozenset(("aten", "prims", "prim", "higher_order"))


def present_names(module_name, names):
    """Sorted, which of the names (or ALL) there is something under: in a program's module anything, in a package's what
    does not follow from its version. [] for a module that is not loaded."""
    if module_name.startswith(_OPERATORS):
        namespace = module_name.removeprefix(_OPERATORS)
        return [] if namespace in _OF_PYTORCH else _among(operators_in(namespace), names)
    module = sys.modules.get(module_name)
    if module is None:
        return []
    found = _among(vars(module), names)
    if is_installed_module(module) and is_answered_by_programs(module):
        return [*found, _ANSWERED]
    # What Python and PyTorch hold follows from their versions. A package gets what it loads late, sooner or later.
    if is_installed_module(module) and (names is ALL or held(module, "__getattr__")):
        may_be_late = _may_be_late_in(module)
        return [name for name in found if not may_be_late(name, vars(module)[name])]
    return found


def is_found(module):
    """Is it what its name stands for?"""
    return module.__name__.startswith(_OPERATORS) or sys.modules.get(module.__name__) is module


def are_there(module, names):
    """Does the module hold all that it may be asked for?"""
    return names is not ALL and names <= vars(module).keys()


def is_answered_by_programs(module):
    """Is what it is asked for, and does not hold, for a program's function to say?"""
    answers = vars(module).get("__getattr__") or held(type(module), "__getattr__")
    return answers is not None and not (isinstance(answers, types.FunctionType) and is_installed_function(answers))


def _among(there, names):
    if names is ALL:
        return sorted(name for name in there if not name.startswith("__"))  # Those are Python's, or Dynamo's.
    return sorted(names.intersection(there))


def _may_be_late_in(module):
    """A function that says of a name and its value in a module of a package: is it a function, a class or a module of the
    package, under its own name, which a module may get when it is asked?"""
    package = module.__name__.partition(".")[0]
    is_of_package = is_packages(module.__name__)
    answers = held(module, "__getattr__") is not None

    def may_be_late(name, value):
        own_name = held(value, "__name__")
        if not (isinstance(own_name, str) and own_name.rpartition(".")[2] == name):
            return False
        is_module = isinstance(value, types.ModuleType)
        owner = value.__name__ if is_module else held(value, "__module__")
        is_own = isinstance(owner, str) and owner.partition(".")[0] == package
        if not is_own or not is_of_package or is_module:
            return is_own
        return owner != module.__name__ and answers

    return may_be_late
