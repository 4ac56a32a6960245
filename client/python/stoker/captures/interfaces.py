"""The one place that touches PyTorch's private interfaces for captures, and the versions known to work.

| interface | what for |
| --- | --- |
| torch._dynamo.convert_frame.catch_errors_wrapper | the callback that CPython's frame evaluation calls: a capture is looked for before Dynamo traces |
| torch._dynamo.convert_frame.CheckFunctionManager | the guards of a frame, with the expressions they were made from |
| torch._dynamo.convert_frame.{has_tensor_in_frame, output_codes}, torch._dynamo.utils.orig_code_map | frames without tensors; Dynamo's own books |
| torch._dynamo.types.{ConvertFrameReturn, GuardedCode, wrap_guarded_code}, torch._dynamo.guards.GuardManagerWrapper, torch._C._dynamo.guards.RootGuardManager | installing bytecode under a guard of our own |
| torch._dynamo.source, torch._guards, torch._dynamo.guards.convert_to_concrete_values | what guards.py and sources.py read |
| torch._functorch's ViewAndMutationMeta | what graphs.py reads |
| torch._C._dynamo.guards.GlobalStateGuard and the modes that state.py lists | PyTorch's global state |
| functions of libc10 and libtorch_cpu that guard_program/torch_state.cc lists | the same state in every call |
| TensorImpl and AutogradMeta, as guard_program/layout.h says | tensors' metadata in every call |
| torch.utils.hooks.RemovableHandle.next_id | whether a module got a hook |

On any other version captures are off, with one line, and everything else goes on working.
"""

import os
import threading
from typing import Any, NamedTuple

import torch

from ..log import warn_once
from .key import options_text

KNOWN_VERSIONS = ("2.11",)

_tracing = threading.local()


class Trace(NamedTuple):
    """What Dynamo knows when it has built the guards of a frame."""

    guards: list
    output_graph: Any
    traced_code: list
    installed_globals: frozenset


def are_on():
    """Are captures used in this process? Says it if PyTorch's version keeps them off."""
    if os.environ.get("STOKER_CAPTURES", "").lower() in ("off", "0"):
        return False
    known = torch.__version__.startswith(tuple(f"{version}." for version in KNOWN_VERSIONS))
    if not known:
        warn_once(
            "captures off", "captures are off: PyTorch %s is none of the versions known to work (%s).",
            torch.__version__, ", ".join(KNOWN_VERSIONS))
    return known


def attach(is_ours):
    """From now on, compiled functions whose backend `is_ours` start from captures. Once per process."""
    if not are_on():
        return
    from torch._dynamo import convert_frame

    original_wrapper = convert_frame.catch_errors_wrapper
    original_manager = convert_frame.CheckFunctionManager

    def catch_errors_wrapper(callback, hooks):
        backend = _innermost(callback)
        return original_wrapper(WarmFrame(callback, backend) if is_ours(backend) else callback, hooks)

    def check_function_manager(code, output_graph, *arguments, **keywords):
        manager = original_manager(code, output_graph, *arguments, **keywords)
        traces = getattr(_tracing, "traces", None)
        if traces is not None:
            from torch._guards import Guard

            traces.append(Trace(
                sorted(output_graph.guards or (), key=Guard.sort_key), output_graph,
                list(output_graph.traced_code), frozenset(output_graph.installed_globals)))
        return manager

    convert_frame.catch_errors_wrapper = catch_errors_wrapper
    convert_frame.CheckFunctionManager = check_function_manager


def _innermost(callback):
    while hasattr(callback, "_torchdynamo_orig_backend"):
        callback = callback._torchdynamo_orig_backend
    return callback


class WarmFrame:
    """A frame callback in front of Dynamo's."""

    def __init__(self, callback, backend):
        self._torchdynamo_orig_backend = callback  # Frame evaluation and DDP follow this name.
        self._options = options_text(
            getattr(backend, "kwargs", {}), getattr(backend, "dynamic", None))

    def __call__(self, frame, cache_entry, hooks, frame_state, skip=0):
        from torch._dynamo.convert_frame import has_tensor_in_frame
        from torch._dynamo.types import ConvertFrameReturn

        from . import frames, recorder

        if not has_tensor_in_frame(frame):
            return ConvertFrameReturn()  # As Dynamo decides too: there is nothing to trace.
        local_values, global_values = dict(frame.f_locals), frame.f_globals
        installed, key = frames.find(
            frame.f_code, global_values.get("__name__"), local_values, global_values, self._options,
            _disabled)
        if installed is not None:
            return _guarded(installed, frame.f_code, global_values)
        if key is None:
            return self._torchdynamo_orig_backend(
                frame, cache_entry, hooks, frame_state, skip=skip + 1)
        recording = recorder.Recorder(key, frame.f_code, local_values, global_values)
        outer, _tracing.traces = getattr(_tracing, "traces", None), []
        try:
            with recording.frame():
                result = self._torchdynamo_orig_backend(
                    frame, cache_entry, hooks, frame_state, skip=skip + 1)
            traces = _tracing.traces
        finally:
            _tracing.traces = outer
        if result.guarded_code is not None and traces:
            recording.finish(traces[-1], result.guarded_code.code)
        return result

    @property
    def _clone_with_backend(self):
        return self._torchdynamo_orig_backend._clone_with_backend


def _disabled(function):
    return torch._dynamo.disable(function, reason="Stoker's captured graph")


def _guarded(installed, entry_code, global_values):
    """An Installed as what a frame callback returns."""
    from torch._C._dynamo.guards import RootGuardManager
    from torch._dynamo import convert_frame
    from torch._dynamo.guards import GuardManagerWrapper
    from torch._dynamo.types import GuardedCode, wrap_guarded_code
    from torch._dynamo.utils import orig_code_map
    from torch._guards import CompileId

    # Dynamo looks its own output up in these, to explain recompiles and not to trace it again.
    orig_code_map[installed.code] = entry_code
    convert_frame.output_codes.add(installed.code)
    root = RootGuardManager()
    root.add_lambda_guard(installed.check, ["the guards of a Stoker capture"], None)
    manager = GuardManagerWrapper(root)
    manager.global_scope, manager.closure_vars = {"G": global_values}, {}  # To explain a recompile.
    return wrap_guarded_code(GuardedCode(
        installed.code, manager, CompileId(frame_id=0, frame_compile_id=0), "Stoker capture"))
