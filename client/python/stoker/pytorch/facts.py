"""Whether a PyTorch has the private names that a feature uses, as names/ says."""

import functools
import importlib
import inspect
from dataclasses import fields, is_dataclass

import torch

from ..base.log import warn_once
from ..base.signals import let_through
from . import versions
from .names import CAPTURES, DIRECT, NAMES

_KINDS = inspect.Parameter
_OPTIONAL = (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)


def has(feature, instead):
    """Is all of PyTorch that the feature needs as it needs it? Else one line says what is not, and what is done
    `instead`."""
    difference = first_difference(feature)
    if difference is not None:
        say_off(feature, difference, instead)
    return difference is None


def say_off(feature, reason, instead):
    """One line for each reason: what turns off several features is said of the first."""
    warn_once(
        ("feature", reason), "%s are off with PyTorch %s: %s; %s.", feature, torch.__version__, reason,
        instead)


@functools.cache
def first_difference(feature):
    """What of this PyTorch is not as the feature needs it, in words; None if all is. Imports the modules that
    the names are in."""
    if feature in (CAPTURES, DIRECT) and versions.is_too_old():
        return f"it is older than {versions.OLDEST}"
    for name in (*NAMES, *versions.adapter().NAMES):
        if feature in name.features:
            difference = difference_of(name)
            if difference is not None:
                return difference
    return None


def difference_of(name):
    """The same of one Name."""
    dotted = name.path.replace(":", ".")
    try:
        found = look_up(name.path)
    except (ImportError, AttributeError) as error:
        let_through(error)
        return f"{dotted} is not there"
    if name.parameters is not None and not _takes(found, name.parameters):
        return f"{dotted} does not take ({', '.join(name.parameters)})"
    if name.fields is not None:
        missing = sorted(set(name.fields) - _fields_of(found))
        if missing:
            return f"{dotted} has no {missing[0]}"
    return None


def look_up(path):
    """ImportError or AttributeError when it is not there."""
    module, _, qualified = path.partition(":")
    found = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found


def _takes(function, names):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        let_through(error)
        return False
    if [parameter.name for parameter in parameters[:len(names)]] != list(names):
        # Some are wrapped into functions that pass everything on.
        return bool(parameters) and all(parameter.kind in _OPTIONAL for parameter in parameters)
    return all(
        parameter.default is not _KINDS.empty or parameter.kind in _OPTIONAL
        for parameter in parameters[len(names):])


def _fields_of(cls):
    if is_dataclass(cls):
        return {field.name for field in fields(cls)}
    return {*getattr(cls, "_fields", ()), *inspect.get_annotations(cls)}
