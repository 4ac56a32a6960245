"""Weights go when their model does."""

import gc
import queue
import weakref
from types import SimpleNamespace

import pytest
import torch

from stoker import library, release
from stoker.executable import Executable as CompiledExecutable


class Executable:
    def __init__(self):
        self.released = queue.Queue()

    def release(self, binding):
        binding.forget()
        self.released.put(binding)


def bind(executable, parameters, before=None, sample=0):
    laid_out = [parameter.detach() for parameter in parameters]
    return release.Binding(executable, parameters, laid_out, sample, before)


def test_end_of_a_parameter_releases_its_binding_once():
    executable, parameters = Executable(), [torch.nn.Parameter(torch.ones(3)) for _ in range(4)]
    binding = bind(executable, parameters)
    memory = [weakref.ref(parameter.untyped_storage()) for parameter in parameters]
    with pytest.raises(queue.Empty):
        executable.released.get(timeout=0.05)
    del parameters[1:]
    assert executable.released.get(timeout=30) is binding
    parameters.clear()
    gc.collect()
    with pytest.raises(queue.Empty):
        executable.released.get(timeout=0.05)
    assert all(each() is None for each in memory)


def test_binding_keeps_no_executable():
    executable, parameter = Executable(), torch.nn.Parameter(torch.ones(3))
    binding, executable = bind(executable, [parameter]), weakref.ref(executable)
    assert executable() is None
    del parameter  # And its end does no harm.
    follower = Executable()
    kept = bind(follower, [torch.ones(2)], binding)
    assert follower.released.get(timeout=30) is kept


def test_handle_is_freed_when_nobody_can_reach_its_executable(monkeypatch):
    """A release under way in another thread would go on with what is freed."""
    reached = []

    class Library:
        def stoker_executable_free(self, handle):
            reached.append((handle._as_parameter_, executable()))

    monkeypatch.setattr(library, "load", Library)
    segment = SimpleNamespace(inputs=(), outputs=(), checks=(), limits=0)
    made = CompiledExecutable(7, segment, on_bind=None)
    executable = weakref.ref(made)
    assert executable() is made and not reached
    del made
    assert reached == [(7, None)]


def test_tensor_objects_of_one_call_are_not_followed_for_ever():
    executable, weight, binding = Executable(), torch.ones(3), None
    for _ in range(3):
        binding = bind(executable, [weight.detach()], binding)
        assert executable.released.get(timeout=30) is binding
    binding = bind(executable, [weight.detach()], binding)
    with pytest.raises(queue.Empty):
        executable.released.get(timeout=0.05)
    other = bind(executable, [torch.ones(4)], binding)
    assert executable.released.get(timeout=30) is other


def test_other_contents_at_the_same_place_are_followed():
    executable, weight, binding = Executable(), torch.ones(3), None
    for sample in range(5):
        binding = bind(executable, [weight.detach()], binding, sample)
        assert executable.released.get(timeout=30) is binding
