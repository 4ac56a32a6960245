"""What the objects that guards reach hold, besides what guards compare: which of the names that code may read are
there, so that none has come or gone, the functions, methods and classes among their attributes, and the order of an
OrderedDict; where code enumerates attributes, all names in their order. And what code asks of tensors.
"""

import abc
import collections
import types

import torch

from ...base.signals import let_through
from ...pytorch.marks import LEFT_ON_MODULES
from ...pytorch.modules import CALLED, HELD
from ...pytorch.tensors import QUESTIONS
from ..words.abstract import Kinds, registered_with
from ..words.held import HEAPTYPE, held
from ..words.installed import is_installed, is_programs_class
from ..words.paths import Unreachable, text
from ..words.plain_data import is_code_like, method_words, own_attributes
from ..words.values import class_path, encode, look_up
from ..words.versions import is_packages

_NONE = [[], [], []]
# Classes that any program has objects of.
_OF_EVERYBODY = {class_path(cls): cls for cls in (
    bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice, type, object,
    collections.OrderedDict, torch.Tensor, torch.nn.Parameter, torch.nn.Module, torch.Size, torch.dtype, torch.device)}
_OF_EVERYBODY |= {f"torch:{name}": getattr(torch, name) for name in ("layout", "memory_format", "Generator")}
_OF_EVERYBODY |= {f"types:{name}": value for name, value in vars(types).items() if isinstance(value, type)}
_OF_EVERYBODY = sorted(_OF_EVERYBODY.items())


def objects_of(values, describe):
    """[[node, [names], [[name, words]]]], each object once."""
    found, seen = [], set()
    for place, value in enumerate(values):
        if id(value) not in seen and _has_attributes(value, describe):
            seen.add(id(value))
            found.append([place, *_words(value, describe)])
    return found


def tensors_of(values, describe):
    """[[node, what is asked of it]] of tensors, where code asks."""
    asked = _asked_of_tensors(describe)
    return [
        [place, answers_of(value, describe)] for place, value in enumerate(values)
        if isinstance(value, torch.Tensor)] if asked else []


def first_tensor_difference(nodes, tensors, describe, values):
    """(what, expected, found) of the first one that is not what it was, or None."""
    asked = _asked_of_tensors(describe)
    for place, expected in tensors:
        value = values[place]
        found = [ask(value) for ask in asked] if isinstance(value, torch.Tensor) else None
        if found != expected:
            return f"state of {text(nodes, place)}", str(expected), str(found)
    return None


def answers_of(tensor, describe):
    """What is asked of it, where code asks."""
    return [ask(tensor) for ask in _asked_of_tensors(describe)]


def _asked_of_tensors(describe):
    return [ask for names, ask in QUESTIONS if not names or any(describe.reads(each) for each in names)]


def first_difference(nodes, objects, describe, values):
    """(what, expected, found) of the first one that is not what it was, or None."""
    for place, *expected in objects:
        value = values[place]
        found = _words(value, describe) if _has_attributes(value, describe) else _NONE
        if found != expected:
            names, code, order = expected
            if found[2] != order:
                return f"the order of {text(nodes, place)}", str(order), str(found[2])
            if found[0] != names:
                changed = sorted(set(names).symmetric_difference(found[0]))
                if not changed:
                    return f"the order in {text(nodes, place)}", str(names), str(found[0])
                return f"{text(nodes, place)}.{changed[0] if changed else names}", *(
                    ("there", "not there") if changed and changed[0] in names else ("not there", "there"))
            name, words = next(pair for pair, other in zip(code, [*found[1], None]) if pair != other)
            return f"{text(nodes, place)}.{name}", str(words), str(dict(found[1]).get(name))
    return None


def _has_attributes(value, describe=None):
    if type(value) is collections.OrderedDict:
        return True
    if describe is not None and describe.enumerates and isinstance(value, types.FunctionType):
        return True
    return (type(value).__flags__ & HEAPTYPE or type(value).__dictoffset__) and not isinstance(
        value, (type, types.FunctionType, types.ModuleType, torch.Tensor, Unreachable))


def kinds_of(nodes, values, classes):
    """[[path of an abstract class, [[node, is it one?]], [[path of a class, is it one?]], [paths of those of _OF_EVERYBODY
    that are, and of others that were registered]]]: registering a class changes no class. `classes`: that code may ask for, or about."""
    places = {}
    for place, value in reversed(list(enumerate(values))):
        if isinstance(value, type) or _has_attributes(value):
            places[_kind_of(value)] = place
    asked = {class_path(cls): cls for cls in classes if isinstance(cls, abc.ABCMeta)}
    own = {class_path(cls): cls for cls in classes if asked and is_programs_class(cls)}
    kinds = Kinds()
    return [
        [path, [[place, _is_kind(kinds, kind, cls)] for kind, place in places.items()],
         [[other, _is_kind(kinds, kind, cls)] for other, kind in sorted(own.items())], _of_everybody(kinds, cls)]
        for path, cls in sorted(asked.items())]


def first_kind_difference(nodes, expected_kinds, values):
    """(what, expected, found) of the first one that is not what it was, or None."""
    kinds = Kinds()
    for path, answers, of_classes, of_everybody in expected_kinds:
        cls = look_up(path)
        for place, expected in answers:
            found = _is_kind(kinds, _kind_of(values[place]), cls)
            if found != expected:
                return f"isinstance({text(nodes, place)}, {path})", str(expected), str(found)
        for other, expected in of_classes:
            found = _is_kind(kinds, look_up(other), cls)
            if found != expected:
                return f"issubclass({other}, {path})", str(expected), str(found)
        found = _of_everybody(kinds, cls)
        if found != of_everybody:
            return f"what is a subclass of {path}", str(of_everybody), str(found)
    return None


def _of_everybody(kinds, cls):
    return [path for path, kind in _OF_EVERYBODY if _is_kind(kinds, kind, cls) is not False] + _registered(cls)


def _registered(cls):
    """Sorted, the names of what was registered with an abstract class, or one below it; of packages' only Python's own classes and
    programs': what packages register with one another follows from which of them are loaded."""
    found, pending = set(), [cls]
    while pending:
        each = pending.pop()
        pending += type.__subclasses__(each)
        found |= {
            f"{kind.__module__}:{kind.__qualname__}" for kind in (registered_with(each) if isinstance(each, abc.ABCMeta) else ())
            if not (is_installed(cls) and is_packages(kind.__module__))}
    return sorted(found)


def _kind_of(value):
    return value if isinstance(value, type) else type(value)


def _is_kind(kinds, kind, cls):
    """Whether it is; what it raises where a class cannot be asked. A protocol of attributes raises until it has been asked
    about an object, and what it looks for in one is among the names."""
    try:
        return kinds.has(cls, kind)
    except Exception as error:
        let_through(error)
        return False if held(cls, "_is_protocol") else type(error).__name__


def _words(value, describe):
    order = [repr(encode(key)) for key in value] if isinstance(value, collections.OrderedDict) else []
    own = own_attributes(value, describe.slots_of(type(value)))
    # Python itself goes through a namespace's attributes, for its text and to compare it.
    enumerates = describe.enumerates or isinstance(value, types.SimpleNamespace)
    called = CALLED if isinstance(value, torch.nn.Module) else ()  # By whoever calls it.
    names = [
        name for name in own
        if (enumerates or describe.reads(name) or name in called) and name not in LEFT_ON_MODULES]
    code = [
        [name, method_words(own[name], describe)] for name in sorted(names)
        if (describe.reads(name) or name in called) and is_code_like(own[name], describe)]
    if isinstance(value, torch.nn.Module):
        for place in HELD:
            names += [name for name in own.get(place) or () if enumerates or describe.reads(name)]
    return [names if enumerates else sorted(names), code, order]
