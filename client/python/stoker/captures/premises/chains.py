"""What a global name in code, and attributes of modules read from it one after the other, stand for."""

import types

from ...base.signals import let_through
from ..words.builtin_names import NOTHING, put_there
from ..words.held import held
from ..words.installed import is_installed_module
from .module_names import is_answered_by_programs

_MISSING = object()


class Mark:
    """In place of what a name stands for."""

    def __init__(self, meaning):
        self.meaning = meaning


PARTLY = Mark("code reads on from an object, which is what its class and guards say")
ABSENT = Mark("a builtin of Python's, or a name that raises")
LAZY = Mark("a module makes it when it is asked")


def look_along(module, names):
    """What a global name, and attributes of modules read from it one after the other, stand for, or a Mark."""
    found = module
    for place, name in enumerate(names):
        if not isinstance(found, types.ModuleType):
            return PARTLY
        owner, found = found, vars(found).get(name, _MISSING)
        if found is _MISSING and place:
            return _made_by(owner, name) if held(owner, "__getattr__") else ABSENT
        if found is _MISSING and (found := put_there(owner, name)) is NOTHING:
            return ABSENT
    return found


def _made_by(module, name):
    """What a module makes when it is asked for an attribute, which a global name does not do. Of an installed package,
    that follows from its version, unless the program answers for it; and asking might import half of it."""
    if is_installed_module(module) and not is_answered_by_programs(module):
        return LAZY
    try:
        return getattr(module, name)
    except Exception as error:  # Whatever a program's function raises.
        let_through(error)
        return ABSENT
