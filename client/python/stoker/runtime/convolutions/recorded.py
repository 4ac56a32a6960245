"""The one kernel that a library gives a stream for a call, and the same launch without the library.

A stream of our own records the call as a CUDA graph, which keeps the kernel's parameters: the driver takes them from there
(cuGraphKernelNodeGetParams and cuLaunchKernelEx of its API, from CUDA 12 on). The library is asked what to launch once for
certain addresses, not in each call."""

import ctypes
import functools

from ...base.log import logger
from ...base.signals import let_through

_VOID = ctypes.c_void_p
_LIBRARY = "libcuda.so.1"
_RELAXED = 2  # CUstreamCaptureMode: other threads and streams do what they like.
_NON_BLOCKING = 1  # CUstream_flags.
_IS_KERNEL = 0  # CUgraphNodeType.
_VALUE_BYTES = 64
# CUlaunchAttributeID. Those that a launch takes along: cooperative, cluster, how clusters are placed, how much of the fast
# memory is shared.
_TAKEN = (2, 4, 5, 14)
# Those that a kernel in a stream has of the stream: priority, and which memory operations its own wait for.
_OF_STREAM = (8, 9)
_LAST_ATTRIBUTE = 16
_MAX_STREAMS = 8  # Whose launches are kept ready.


class Refused(Exception):
    """A library or the driver does not take it; the message says what it said."""


class _Parameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2"""

    _fields_ = [
        ("function", _VOID), *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared_bytes")),
        ("values", _VOID), ("extra", _VOID), ("kernel", _VOID), ("context", _VOID)]


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute"""

    _fields_ = [("number", ctypes.c_int), ("padding", ctypes.c_char * 4), ("value", ctypes.c_ubyte * _VALUE_BYTES)]


class _Configuration(ctypes.Structure):
    """CUlaunchConfig"""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared_bytes")),
        ("stream", _VOID), ("attributes", _VOID), ("count", ctypes.c_uint)]



class Driver:
    """What is used of the driver's API; AttributeError or OSError where there is none or it is older."""

    def __init__(self, library=None):
        library = library or ctypes.CDLL(_LIBRARY)
        self.create_stream = library.cuStreamCreate
        self.begin = library.cuStreamBeginCapture_v2
        self.end = library.cuStreamEndCapture
        self.nodes = library.cuGraphGetNodes
        self.type_of = library.cuGraphNodeGetType
        self.parameters_of = library.cuGraphKernelNodeGetParams_v2
        self.attribute_of = library.cuGraphKernelNodeGetAttribute
        self.destroy = library.cuGraphDestroy
        self.launch = library.cuLaunchKernelEx
        self.launch.argtypes = [_VOID] * 4


@functools.cache
def driver():
    """None where it cannot do this."""
    try:
        return Driver()
    except (AttributeError, OSError) as error:
        let_through(error)
        logger.debug("kernels of libraries are not recorded: %s", error)
        return None


class Recorder:
    """Of one GPU, whose context is current at each call. Not thread-safe."""

    def __init__(self, driver):
        self._driver = driver
        self._stream = _VOID()
        self._is_usable = driver is not None and not driver.create_stream(ctypes.byref(self._stream), _NON_BLOCKING)

    def recorded(self, give):
        """What give(stream) puts there, as a Launch; None where this is not one kernel, or cannot be taken apart."""
        if not self._is_usable or self._driver.begin(self._stream, _RELAXED):
            return None
        has_given = False
        try:
            give(self._stream.value)
            has_given = True
        except Refused as error:
            logger.debug("not recorded: %s", error)
        finally:
            graph = _Graph(self._driver, self._stream)
        return _launch_of(self._driver, graph) if has_given and graph.address else None


class _Graph:
    """What a stream has recorded. The parameters of its kernel lie in it."""

    def __init__(self, driver, stream):
        self._destroy, self.address = driver.destroy, _VOID()
        driver.end(stream, ctypes.byref(self.address))  # No graph where the recording has failed.

    def __del__(self):
        if self.address:
            self._destroy(self.address)


def _launch_of(driver, graph):
    nodes, count, kind = (_VOID * 2)(), ctypes.c_size_t(2), ctypes.c_int(-1)
    if driver.nodes(graph.address, nodes, ctypes.byref(count)) or count.value != 1:
        return None
    node = _VOID(nodes[0])
    if driver.type_of(node, ctypes.byref(kind)) or kind.value != _IS_KERNEL:
        return None
    parameters = _Parameters()
    attributes = _attributes_of(driver, node)
    if attributes is None or driver.parameters_of(node, ctypes.byref(parameters)):
        return None
    return Launch(driver, graph, parameters, attributes)


def _attributes_of(driver, node):
    """Those that are not zero and that a launch takes along; None where the kernel has one that this does not know."""
    found = []
    for number in range(1, _LAST_ATTRIBUTE + 1):
        attribute = _Attribute(number)
        if driver.attribute_of(node, number, ctypes.byref(attribute.value)) or not any(attribute.value):
            continue
        if number in _TAKEN:
            found.append(attribute)
        elif number not in _OF_STREAM:
            return None
    return found


class Launch:
    """A kernel with its parameters. Calls are safe from any thread. `parts`: (the configuration, for no stream; the function,
    the values, the extra) as cuLaunchKernelEx takes them, as long as this lives."""

    def __init__(self, driver, graph, parameters, attributes):
        self._driver, self._graph, self._parameters = driver, graph, parameters
        self._attributes = (_Attribute * len(attributes))(*attributes)
        self._function = parameters.function or parameters.kernel
        self._launch, self._values, self._extra = driver.launch, parameters.values, parameters.extra
        self._ready = {}  # Stream -> its configuration.
        self._unplaced = self._configuration(None)
        self.parts = ctypes.addressof(self._unplaced), self._function, self._values, self._extra

    def __call__(self, stream):
        """Refused where the driver does. The kernel's context is current."""
        configuration = self._ready.get(stream) or self._configured(stream)
        status = self._launch(ctypes.byref(configuration), self._function, self._values, self._extra)
        if status:
            raise Refused(f"a launch gave {status}")

    def _configuration(self, stream):
        of = self._parameters
        return _Configuration(
            of.gx, of.gy, of.gz, of.bx, of.by, of.bz, of.shared_bytes, stream,
            ctypes.cast(self._attributes, _VOID) if self._attributes else None, len(self._attributes))

    def _configured(self, stream):
        configuration = self._configuration(stream)
        if len(self._ready) >= _MAX_STREAMS:
            self._ready = {}
        self._ready[stream] = configuration
        return configuration
