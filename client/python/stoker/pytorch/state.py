"""PyTorch's state outside of a program's objects: what the same graph depends on."""

import json
import sys

import torch
from torch._C._dynamo.guards import GlobalStateGuard
from torch._functorch import config
from torch.autograd import forward_ad, profiler

from ..base.not_portable import NotPortable
from . import devices, operators
from .modules import CALLED, CALLED_HOOKS

_HOOKS = (
    "_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_pre_hooks",
    "_global_forward_hooks", "_global_parameter_registration_hooks",
    "_global_module_registration_hooks", "_global_buffer_registration_hooks")
# What a call goes through, if a module has one of its own.
_CALLED = ("forward", *CALLED)
_MODULE = sys.modules["torch.nn.modules.module"]
# Parts of the state that neither a trace nor code for processors depends on, unless the program's code reads them by
# one of these names. What asks how many threads there are is not traced: the bytecode asks whenever it runs.
_PRECISION = (
    "allow_tf32", "fp32_precision", "get_float32_matmul_precision", "_get_cublas_allow_tf32",
    "_get_float32_matmul_precision")
_ASKED_BY = {
    "num_threads": (),
    "allow_tf32": _PRECISION,
    "cuda_matmul_precision": _PRECISION,
    "allow_fp16_reduce": (
        "allow_fp16_reduced_precision_reduction", "_get_cublas_allow_fp16_reduced_precision_reduction"),
    "allow_bf16_reduce": (
        "allow_bf16_reduced_precision_reduction", "_get_cublas_allow_bf16_reduced_precision_reduction"),
    "numerics": _PRECISION,  # Or a product of float32 matrices.
    "gpu_numerics": _PRECISION,
    "precisions": _PRECISION,
}
_READ = ("numerics", "gpu_numerics")  # By a compile of products.
# What a product of float32 matrices may lose, fp32_precision of torch.backends: libstoker's numerics.
_NUMERICS = {"none": "highest", "ieee": "highest", "tf32": "high", "bf16": "medium"}
_GPU = torch.device("cuda")

_FAKE = torch._C._TorchDispatchModeKey.FAKE


def current():
    """JSON. NotPortable where the state holds objects."""
    if torch._C._len_torch_function_stack():
        raise NotPortable("a torch function mode")
    if torch._C._len_torch_dispatch_stack():
        raise NotPortable("a torch dispatch mode")
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        raise NotPortable("saved tensors hooks")
    if torch._C._functorch.maybe_current_level() is not None:
        raise NotPortable("a functorch transform")
    kernel = operators.kernel_of_the_program()
    if kernel is not None:
        raise NotPortable(f"an operator of PyTorch with a kernel of the program's, {kernel}")
    return {
        **json.loads(GlobalStateGuard().__getstate__()),
        "inference_mode": torch.is_inference_mode_enabled(),
        "default_device": str(_device()),
        "forward_ad_level": forward_ad._current_level,
        "attention": list(_attention()),
        "hooks": [len(getattr(_MODULE, name)) for name in _HOOKS],
        "numerics": numerics(devices.CPU),
        "gpu_numerics": numerics(_GPU),
        "precisions": _precisions(),
        "autograd": config.get_hash().hex(),
    }


def numerics(where):
    """What products of float32 matrices on this device may lose: "highest", "high" or "medium". torch.set_float32_matmul_precision
    sets it for all devices, and torch.backends for each kind."""
    matmul = torch.backends.mkldnn.matmul if where.type == "cpu" else torch.backends.cuda.matmul
    return _NUMERICS.get(matmul.fp32_precision, "highest")


def _precisions():
    mkldnn, cuda, cudnn = torch.backends.mkldnn, torch.backends.cuda, torch.backends.cudnn
    return [part.fp32_precision for part in (
        torch.backends, mkldnn, mkldnn.matmul, mkldnn.conv, mkldnn.rnn, cuda.matmul, cudnn, cudnn.conv, cudnn.rnn)]


def asked_for(state, asks, reads_numerics):
    """What a capture depends on of a `state` (of current()). `asks`: whether its code may read a name;
    `reads_numerics`: whether a compile of its graphs does."""
    return {
        name: value for name, value in state.items()
        if name not in _ASKED_BY or any(asks(each) for each in _ASKED_BY[name]) or name in _READ and reads_numerics}


def runs_more_than_forward(module):
    """Does calling the module run hooks, or something else than its class's forward?"""
    kind = type(module)
    return (
        kind.__call__ is not torch.nn.Module.__call__
        or kind._call_impl is not torch.nn.Module._call_impl
        or not vars(module).keys().isdisjoint(_CALLED) or module._compiled_call_impl is not None
        or any(getattr(module, name) for name in CALLED_HOOKS)
        or any(getattr(_MODULE, name) for name in _HOOKS))


def difference(expected):
    """(name, expected, found) of the first part of a state (of asked_for) that differs, or None."""
    try:
        found = current()
    except NotPortable as error:
        return "modes", "none", str(error)
    for name in sorted(expected.keys() | found.keys() - _ASKED_BY.keys()):
        if expected.get(name) != found.get(name):
            return name, expected.get(name), found.get(name)
    return None


def parts():
    """What the extension cannot find by itself to tell whether the state is still as it is now: dictionaries that
    must stay as long as they are, and (dictionary of a module, name, value)s."""
    import torch.utils._device as device  # Otherwise loaded when a default device is set.

    return (
        tuple(getattr(_MODULE, name) for name in _HOOKS),
        ((vars(forward_ad), "_current_level", forward_ad._current_level),
         (vars(device), "CURRENT_DEVICE", device.CURRENT_DEVICE)))


def in_forward_mode():
    """May tensors carry tangents?"""
    return forward_ad._current_level >= 0


def makes_fakes():
    """Have tensors that are made now no memory?"""
    return torch._C._get_dispatch_mode(_FAKE) is not None


def is_profiled():
    """Does PyTorch's profiler take what runs now?"""
    return getattr(profiler, "_is_profiler_enabled", False)


def watcher():
    """A function that tells, in about a microsecond, whether the state is still as it is now."""
    state = GlobalStateGuard()
    inference = torch.is_inference_mode_enabled()
    device = _device()
    hooks = [getattr(_MODULE, name) for name in _HOOKS]
    lengths = list(map(len, hooks))
    attention = _attention()
    level = forward_ad._current_level
    precision = numerics(devices.CPU), numerics(_GPU)

    def unchanged():
        return (
            state.check() and torch.is_inference_mode_enabled() == inference
            and _device() == device
            and not torch._C._len_torch_function_stack()
            and not torch._C._len_torch_dispatch_stack()
            and torch._C._autograd._top_saved_tensors_default_hooks(False) is None
            and torch._C._functorch.maybe_current_level() is None
            and forward_ad._current_level == level
            and list(map(len, hooks)) == lengths and _attention() == attention
            and (numerics(devices.CPU), numerics(_GPU)) == precision)

    return unchanged


def rank():
    """JSON: which process of how many this is, for torch.distributed; [] if it is not initialized."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return []
    return [distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()]


def _attention():
    return (
        torch._C._get_flash_sdp_enabled(), torch._C._get_mem_efficient_sdp_enabled(),
        torch._C._get_math_sdp_enabled())


def _device():
    """The default device that was set; its module is loaded when one is."""
    return getattr(sys.modules.get("torch.utils._device"), "CURRENT_DEVICE", None)


def tree_nodes():
    """Classes that pytree takes apart."""
    from torch.utils._pytree import SUPPORTED_NODES

    return SUPPORTED_NODES
