"""Convolutions with what follows them in one kernel, by cuDNN's graphs: its C interface, of the library that PyTorch has loaded.

PyTorch's own operators for this (cudnn_convolution_relu) give memory of their own, and ask for kernels whose results may
differ from call to call, and for ReLUs that may drop NaN, whatever the program wants."""

import ctypes
import functools
from typing import Any, NamedTuple

import torch

from ...base import tally
from ...base.locks import ProcessLock
from ...base.log import logger
from ...base.signals import let_through
from ...pytorch import devices

# A kernel for each: what a process meets more of it computes in several.
MAX_KERNELS = 1024
# Of what cuDNN proposes, best first.
_MAX_PROPOSALS = 16
_ALIGNED = 16  # Bytes.
# Until then the library may have things to load, and the tensors may be elsewhere the next time.
_RUNS_BEFORE_RECORDING = 2


class Refused(Exception):
    """cuDNN does not take it; the message says what it said."""


class Fused(NamedTuple):
    """One convolution: all that a kernel is chosen by. Images and what is like them lie channels last."""

    device: Any
    dtype: Any
    image: tuple  # Shape.
    weight: tuple  # Shape, over the channels of the image.
    result: tuple  # Shape.
    stride: tuple
    padding: tuple
    dilation: tuple
    has_residual: bool  # Is an image added? Then a summand for each channel, then a ReLU.
    is_repeatable: bool  # The same bits in every call.


# ---- The library ------------------------------------------------------------------------------------

_VOID = ctypes.c_void_p
# cudnnBackendAttributeType_t: number, type in C.
_HANDLE, _DTYPE, _BOOL, _INT, _FLOAT, _DOUBLE = (0, _VOID), (1, ctypes.c_int), (2, ctypes.c_bool), (3, ctypes.c_int64), (
    4, ctypes.c_float), (5, ctypes.c_double)
_POINTER, _MODE, _HEURISTIC, _NAN, _NOTE, _POINTWISE_MODE, _DESCRIPTOR, _BEHAVIOR = (6, _VOID), (7, ctypes.c_int), (
    8, ctypes.c_int), (10, ctypes.c_int), (11, ctypes.c_int), (14, ctypes.c_int), (15, _VOID), (19, ctypes.c_int)
_FLOAT_DTYPES = {torch.float32: 0, torch.float16: 2, torch.bfloat16: 9}
_ADD, _RELU = 0, 100
_NONDETERMINISTIC = 4  # Among an engine's numerical notes.
_IS_COMPILED = 0  # Among those on how it behaves: its kernel is compiled here, which takes up to a second.


@functools.cache
def _library():
    library = ctypes.CDLL("libcudnn.so.9")
    library.cudnnBackendSetAttribute.argtypes = [_VOID, ctypes.c_int, ctypes.c_int, ctypes.c_int64, _VOID]
    library.cudnnBackendGetAttribute.argtypes = [_VOID, ctypes.c_int, ctypes.c_int, ctypes.c_int64, _VOID, _VOID]
    library.cudnnBackendFinalize.argtypes = [_VOID]
    library.cudnnBackendDestroyDescriptor.argtypes = [_VOID]
    library.cudnnBackendExecute.argtypes = [_VOID, _VOID, _VOID]
    library.cudnnSetStream.argtypes = [_VOID, _VOID]
    return library


def _check(status, what):
    if status:
        raise Refused(f"{what} gave {status}")


class _Object:
    """A descriptor. `attributes`: {number: (type, value or list of values)}"""

    def __init__(self, kind, attributes, is_final=True):
        self._library = _library()
        self.address = _VOID()
        _check(self._library.cudnnBackendCreateDescriptor(kind, ctypes.byref(self.address)), f"descriptor {kind}")
        for number, ((type_, of_c), values) in attributes.items():
            values = values if isinstance(values, (list, tuple)) else [values]
            values = (of_c * len(values))(*[value.address if isinstance(value, _Object) else value for value in values])
            _check(self._library.cudnnBackendSetAttribute(self.address, number, type_, len(values), values),
                   f"attribute {number}")
        if is_final:
            _check(self._library.cudnnBackendFinalize(self.address), f"descriptor {kind}, complete,")

    def numbers(self, attribute, kind, most=1):
        (type_, of_c), count, values = kind, ctypes.c_int64(), (kind[1] * most)()
        _check(self._library.cudnnBackendGetAttribute(
            self.address, attribute, type_, most, ctypes.byref(count), values), f"attribute {attribute}")
        return list(values)[:count.value]

    def objects(self, attribute, kind, most):
        made = [_Object(kind, {}, is_final=False) for _ in range(most)]
        count, values = ctypes.c_int64(), (_VOID * most)(*[each.address for each in made])
        _check(self._library.cudnnBackendGetAttribute(
            self.address, attribute, _DESCRIPTOR[0], most, ctypes.byref(count), values), f"attribute {attribute}")
        return made[:count.value]

    def __del__(self):
        if self.address:
            self._library.cudnnBackendDestroyDescriptor(self.address)


# ---- Graphs -----------------------------------------------------------------------------------------


def channels_last(shape):
    """Strides."""
    strides, step = [0] * len(shape), 1
    for dim in (1, *reversed(range(2, len(shape))), 0):
        strides[dim] = step
        step *= shape[dim]
    return strides


def _tensor(number, shape, dtype, is_virtual=False):
    return _Object(17, {
        900: (_INT, _ALIGNED), 901: (_DTYPE, _FLOAT_DTYPES[dtype]), 902: (_INT, list(shape)), 903: (_INT, channels_last(shape)),
        906: (_INT, number), 907: (_BOOL, is_virtual)})


def steps_of(fused):
    """[(what follows the convolution, shape of what it reads or None)], in the order that the library has kernels for."""
    channels = (1, fused.result[1], *(1,) * (len(fused.result) - 2))
    return [*([(_ADD, fused.result)] if fused.has_residual else []), (_ADD, channels), (_RELU, None)]


def _graph_of(fused, handle):
    """(the graph, numbers of its tensors: of the image, the weight, what each step reads, the result)"""
    steps, spatial = steps_of(fused), len(fused.stride)
    window = _Object(1, {
        100: (_DTYPE, 0), 101: (_MODE, 1), 102: (_INT, fused.dilation), 103: (_INT, fused.stride), 104: (_INT, fused.padding),
        105: (_INT, fused.padding), 106: (_INT, spatial)})

    def made(number):
        return _tensor(3, fused.result, fused.dtype) if number == len(steps) else (
            _tensor(100 + number, fused.result, torch.float32, is_virtual=True))

    current = made(0)
    operations = [_Object(10, {
        700: (_FLOAT, 1.0), 701: (_FLOAT, 0.0), 702: (_DESCRIPTOR, window),
        703: (_DESCRIPTOR, _tensor(2, fused.weight, fused.dtype)), 704: (_DESCRIPTOR, _tensor(1, fused.image, fused.dtype)),
        705: (_DESCRIPTOR, current)})]
    numbers = [1, 2]
    for place, (what, shape) in enumerate(steps):
        after = made(place + 1)
        function = {0: (_POINTWISE_MODE, what), 1: (_DTYPE, 0)}
        read = {}
        if what == _RELU:
            function[2], function[3] = (_NAN, 1), (_DOUBLE, 0.0)  # NaN stays.
        else:
            numbers.append(10 + place)
            read = {752: (_DESCRIPTOR, _tensor(10 + place, shape, fused.dtype))}
        operations.append(_Object(13, {
            750: (_DESCRIPTOR, _Object(0, function)), 751: (_DESCRIPTOR, current), **read, 753: (_DESCRIPTOR, after)}))
        current = after
    return _Object(15, {800: (_HANDLE, handle.address), 801: (_DESCRIPTOR, operations)}), [*numbers, 3]


class Kernel:
    """What computes a Fused; Refused where nothing of cuDNN's does."""

    def __init__(self, fused, handle):
        graph, self._numbers = _graph_of(fused, handle)
        proposals = _Object(4, {200: (_HEURISTIC, 3), 201: (_DESCRIPTOR, graph)}).objects(202, 3, _MAX_PROPOSALS)
        reason = "it has none ready"
        for proposal in proposals:
            try:
                engine, = proposal.objects(300, 2, 1)
                if _IS_COMPILED in engine.numbers(1305, _BEHAVIOR, 16) or (
                        fused.is_repeatable and _NONDETERMINISTIC in engine.numbers(1303, _NOTE, 16)):
                    continue
                self._plan = _Object(5, {400: (_HANDLE, handle.address), 401: (_DESCRIPTOR, proposal)})
                self._bytes, = self._plan.numbers(402, _INT)
                return
            except Refused as error:
                reason = error
        raise Refused(str(reason))

    def on(self, handle, tensors):
        """A function of a stream that runs it there on these tensors, in the order of the numbers; nothing of them changes
        from run to run where is_steady()."""
        library, plan = _library(), self._plan.address
        pack = self._pack(tensors, None) if self.is_steady() else None

        def run(stream):
            given = pack
            if given is None:  # A CUDA graph that records this owns the memory.
                workspace = torch.empty(self._bytes, dtype=torch.uint8, device=tensors[0].device)
                given = self._pack(tensors, workspace.data_ptr())
            handle.follow(stream)
            _check(library.cudnnBackendExecute(handle.address, plan, given.address), "a run")

        return run

    def is_steady(self):
        return self._bytes == 0

    def _pack(self, tensors, workspace):
        return _Object(16, {
            1000: (_INT, self._numbers), 1001: (_POINTER, [tensor.data_ptr() for tensor in tensors]),
            1003: (_POINTER, workspace)})


# ---- Of this process --------------------------------------------------------------------------------

_lock = ProcessLock()  # A handle is one thread's at a time.
_kernels = {}  # Fused -> Kernel, or None where it is refused.


class _Handle:
    """The library's, of a GPU."""

    def __init__(self, device):
        self.address = _VOID()
        self._stream = None  # That it runs in.
        with torch.cuda.device(device):
            _check(_library().cudnnCreate(ctypes.byref(self.address)), "a handle")

    def follow(self, stream):
        if stream != self._stream:
            _check(_library().cudnnSetStream(self.address, stream), "a stream")
            self._stream = stream


_handle = functools.cache(_Handle)


def on(fused, tensors):
    """A function that computes it on these tensors (the image, the weight, what follows reads, the result); None where cuDNN
    does not. It raises Refused where cuDNN does, after all."""
    with _lock():
        if fused not in _kernels and len(_kernels) < MAX_KERNELS:
            _kernels[fused] = _kernel_of(fused)
        kernel = _kernels.get(fused)
        give = kernel and kernel.on(_handle(fused.device), tensors)
    return give and _Runs(fused.device, give, kernel.is_steady())


class _Runs:
    """Of one kernel on certain tensors."""

    def __init__(self, device, give, is_steady):
        self._device, self._give = device, give
        self._is_steady, self._runs = is_steady, 0

    def __call__(self):
        self.give(devices.stream_of(self._device))

    def give(self, stream):
        with _lock():
            self._give(stream)

    def to_record(self):
        """Behind a call: give(), where it is time that somebody records what that gives, the same in every call; else None."""
        if not self._is_steady:
            return None
        if self._runs < _RUNS_BEFORE_RECORDING:
            self._runs += 1
        return self.give if self._runs == _RUNS_BEFORE_RECORDING and not devices.is_capturing() else None


def _kernel_of(fused):
    try:
        with torch.cuda.device(fused.device):
            kernel = Kernel(fused, _handle(fused.device))
        tally.count("convolutions_fused")
        return kernel
    except (Refused, OSError) as error:
        let_through(error)
        logger.info("cuDNN has no kernel for a convolution and what follows it: %s (%s)", error, fused)
        tally.count("convolutions_in_steps")
        return None
