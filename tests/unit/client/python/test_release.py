"""Weights go when their model does."""

import gc
import queue
import weakref
from types import SimpleNamespace

import pytest
import torch

from stoker.base import background
from stoker.libstoker import library
from stoker.runtime import release
from stoker.runtime.binding import Stamp
from stoker.runtime.executable import Executable as CompiledExecutable


class Executable:
    def __init__(self):
        self.released = queue.Queue()

    def release(self, binding):
        binding.forget()
        self.released.put(binding)


def bind(executable, parameters):
    contents = Stamp(parameters).contents
    return release.Binding(executable, [content.memory for content in contents], contents)


@pytest.fixture(autouse=True)
def no_thread(monkeypatch):
    """Nobody but the test looks."""
    monkeypatch.setattr(release._watch, "start", lambda: None)


def test_end_of_a_parameter_releases_its_binding_once():
    executable, parameters = Executable(), [torch.nn.Parameter(torch.ones(3)) for _ in range(4)]
    binding = bind(executable, parameters)
    ends = [weakref.ref(parameter) for parameter in parameters]
    assert release.release_ended() and executable.released.empty()
    del parameters[1:]
    release.release_ended()
    assert executable.released.get_nowait() is binding
    parameters.clear()
    gc.collect()
    assert not release.release_ended() and executable.released.empty()
    assert all(end() is None for end in ends)


def test_a_thread_looks_while_anything_is_bound(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(background, "INTERVAL_S", 0.02)
    executable, parameter = Executable(), torch.nn.Parameter(torch.ones(3))
    binding = bind(executable, [parameter])
    with pytest.raises(queue.Empty):
        executable.released.get(timeout=0.2)
    del parameter
    assert executable.released.get(timeout=30) is binding
    follower, parameter = Executable(), torch.nn.Parameter(torch.ones(3))  # Maybe by another thread.
    kept = bind(follower, [parameter])
    del parameter
    assert follower.released.get(timeout=30) is kept


def test_what_lies_in_the_same_memory_keeps_a_binding():
    """As a checkpoint that is being written, and the other name of a tied weight."""
    executable, parameter = Executable(), torch.nn.Parameter(torch.ones(4, 2))
    binding, other = bind(executable, [parameter, parameter[1:]]), parameter[2:].detach()
    del parameter
    release.release_ended()
    assert executable.released.empty()
    del other
    release.release_ended()
    assert executable.released.get_nowait() is binding


def test_two_bindings_to_one_parameter_keep_it_for_nobody():
    executables, parameter = (Executable(), Executable()), torch.nn.Parameter(torch.ones(3))
    bindings = [bind(executables[0], [parameter])]
    parameter.data.add_(1)
    bindings.append(bind(executables[1], [parameter]))  # Of its contents after a change.
    release.release_ended()
    assert all(executable.released.empty() for executable in executables)
    del parameter
    release.release_ended()
    assert [executable.released.get_nowait() for executable in executables] == bindings


def test_tensor_objects_that_callers_make_for_each_call_are_no_parameters():
    executable, weight = Executable(), torch.ones(3)
    kept = bind(executable, [weight.detach()])
    release.release_ended()
    assert executable.released.empty() and kept.contents


def test_a_bound_parameter_may_be_swapped():
    executable, parameter = Executable(), torch.nn.Parameter(torch.ones(3))
    binding = bind(executable, [parameter])
    torch.utils.swap_tensors(parameter, torch.nn.Parameter(torch.zeros(3)))
    gc.collect()
    release.release_ended()
    assert executable.released.get_nowait() is binding


def test_binding_keeps_no_executable():
    executable, parameter = Executable(), torch.nn.Parameter(torch.ones(3))
    binding, executable = bind(executable, [parameter]), weakref.ref(executable)
    assert executable() is None and binding.contents
    del parameter  # And its end does no harm.
    release.release_ended()


def test_handle_is_freed_when_nobody_can_reach_its_executable(monkeypatch):
    """A release under way in another thread would go on with what is freed."""
    reached = []

    class Library:
        def stoker_executable_free(self, handle):
            reached.append((handle._as_parameter_, executable()))

    monkeypatch.setattr(library, "load", Library)
    monkeypatch.setattr(CompiledExecutable, "describe", lambda self: {"host_calls": [], "last_of_inputs": [], "first_of_outputs": []})
    segment = SimpleNamespace(inputs=(), outputs=(), checks=(), limits=0)
    made = CompiledExecutable(7, segment, on_bind=None)
    executable = weakref.ref(made)
    assert executable() is made and not reached
    del made
    assert reached == [(7, None)]
