"""What Dynamo does to an optimizer when it traces a step of it, done again without a trace: first states are made, counters of steps
come to where their parameter is, and what it holds is marked as lying where it lies."""

import inspect
import sys

import torch

from ...base.signals import let_through
from ..installation import path_in
from ..marks import innermost

_OF_MODULE = vars(sys.modules[torch.optim.Optimizer.__module__])
_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
_HOOKS_OF_ALL = ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")
_MARK = "_dynamo_static_input_type"
_FIRST_STATES = "_init_group"
_CAPTURABLE = "capturable"


def is_optimizer(value):
    return isinstance(value, torch.optim.Optimizer)


def is_pytorchs(optimizer):
    """Is its class one of PyTorch's, under its name, as it came? Nothing else says what making its first states does."""
    cls = type(optimizer)
    module = cls.__module__
    if not f"{module}.".startswith("torch.optim.") or getattr(torch.optim, cls.__name__, None) is not cls:
        return False
    return all(_is_as_it_came(cls, optimizer, name) for name in (_FIRST_STATES, "__getattribute__", "__getattr__", "__setattr__"))


def _is_as_it_came(cls, optimizer, name):
    found = getattr(cls, name, None)
    if name in vars(optimizer):
        return False
    code = getattr(innermost(found), "__code__", None)
    return found is getattr(object, name, None) or code is not None and path_in(code.co_filename) is not None


def outline_of(optimizer):
    """What it optimizes, as text: how many groups of which parameters. Every program calls the same step; "" of one that is otherwise."""
    if not is_pytorchs(optimizer):
        return ""
    try:
        return str([
            [(each.dtype, each.device.type, list(each.shape)) for each in group["params"]] for group in optimizer.param_groups])
    except (AttributeError, KeyError, TypeError) as error:
        let_through(error)
        return ""


def makes_states(optimizer):
    """Does its class say so in a method of its own, which Dynamo calls in place of tracing it?"""
    return hasattr(type(optimizer), _FIRST_STATES)


def hooks_of(optimizer):
    """How many functions of the program's run at each step of it."""
    return sum(len(vars(optimizer).get(name) or ()) for name in _HOOKS) + sum(
        len(_OF_MODULE.get(name) or ()) for name in _HOOKS_OF_ALL)


def mark_of(tensor):
    """None where nobody has said that it lies where it lies."""
    return getattr(tensor, _MARK, None)


def mark(tensor, words):
    """`words`: of mark_of."""
    if words is not None and mark_of(tensor) != words:
        setattr(tensor, _MARK, words)


class FirstStates:
    """Makes the states of optimizers of PyTorch's own as Dynamo does before it traces a step of them. May raise whatever they do."""

    def __init__(self, optimizers, keeps_capturable):
        self._before = [
            (optimizer, [(key, dict(value)) for key, value in optimizer.state.items()],
             [(group, group.get(_CAPTURABLE)) for group in optimizer.param_groups])
            for optimizer in optimizers]
        self._keeps_capturable = keeps_capturable

    def make(self):
        for optimizer, _, _ in self._before:
            for key, state in optimizer.state.items():
                if "step" in state and state["step"].is_cpu:
                    state["step"] = state["step"].to(key.device)
            for group in optimizer.param_groups:
                self._make_those_of(optimizer, group)

    def undo(self):
        for optimizer, states, groups in self._before:
            known = {id(key): state for key, state in states}
            for key in [key for key in optimizer.state if id(key) not in known]:
                del optimizer.state[key]
            for key, state in optimizer.state.items():
                if any(state.get(name, self) is not value for name, value in known[id(key)].items()) or (
                        len(state) != len(known[id(key)])):
                    state.clear()
                    state.update(known[id(key)])
            for group, capturable in groups:
                if _CAPTURABLE in group and group[_CAPTURABLE] is not capturable:
                    group[_CAPTURABLE] = capturable

    def _make_those_of(self, optimizer, group):
        make = getattr(optimizer, _FIRST_STATES)
        lists = [[] for _ in range(_parameters_of(type(optimizer)) - 2)]
        if not self._becomes_capturable(optimizer, group):
            make(group, *lists)
            return
        before = group[_CAPTURABLE]
        group[_CAPTURABLE] = True
        try:
            make(group, *lists)
        finally:
            if not self._keeps_capturable:
                group[_CAPTURABLE] = before

    def _becomes_capturable(self, optimizer, group):
        """On a GPU, counters of steps are to lie there."""
        return _CAPTURABLE in group and all(
            (each.is_cuda or each.is_xpu) and each not in optimizer.state for each in group["params"])


def _parameters_of(cls):
    """How many the method takes: the optimizer, a group, and lists that it fills."""
    return len(inspect.signature(innermost(getattr(cls, _FIRST_STATES))).parameters)
