"""A job without PyTorch on GPUs of the fake driver (tests/unit/runtime/cuda), which notes what it is given to launch.

usage: cuda_job.py run      one graph on cuda:0 and cuda:1, on streams of its own; prints one JSON line
       cuda_job.py record TARGET...   writes the same graph's requests into the manifest that STOKER_RECORD names
"""

import ctypes
import json
import sys

import numpy as np

from stoker.libstoker import client, library

ROWS, COLUMNS = 8, 16
TYPE = f"f32[{ROWS},{COLUMNS}]"
# A softmax, what the host framework does with it, and a kernel that reads both.
GRAPH = f"""graph @g(%x: {TYPE}, %w: parameter {TYPE}) {{
  %m = reduce(%x) {{dims=[1], kind="maximum"}} : f32[{ROWS}]
  %mb = broadcast_in_dim(%m) {{dims=[0]}} : {TYPE}
  %d = subtract(%x, %mb) : {TYPE}
  %e = exponential(%d) : {TYPE}
  %s = reduce(%e) {{dims=[1], kind="add"}} : f32[{ROWS}]
  %sb = broadcast_in_dim(%s) {{dims=[0]}} : {TYPE}
  %y = divide(%e, %sb) : {TYPE}
  %h = extern_call(%y) {{target="f"}} : {TYPE}
  %z = multiply(%h, %w) : {TYPE}
  return %z
}}
"""


class FakeDriver:
    """The driver that libstoker finds, too."""

    def __init__(self):
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._driver.stoker_fake_cuda.restype = ctypes.POINTER(ctypes.c_void_p)
        self._log = ctypes.CFUNCTYPE(ctypes.c_char_p)(self._driver.stoker_fake_cuda()[8])
        assert self._driver.cuInit(0) == 0

    def log(self):
        return [line for line in self._log().decode().split("; ") if line]

    def use(self, ordinal):
        """Makes a GPU's primary context current, as the CUDA runtime does."""
        context = ctypes.c_void_p()
        assert self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal) == 0
        assert self._driver.cuCtxPushCurrent_v2(context) == 0

    def stream(self):
        stream = ctypes.c_void_p()
        assert self._driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
        return stream

    def wait(self, stream):
        assert self._driver.cuStreamSynchronize(stream) == 0


def parsed():
    text = GRAPH.encode()
    return library.make_handle(library.load().stoker_graph_parse, text, len(text))


def options_of(**fields):
    return library.CompileOptions(struct_size=library.sizeof(library.CompileOptions), **fields)


def pointers(*arrays):
    return (ctypes.c_void_p * len(arrays))(*[None if a is None else a.ctypes.data for a in arrays])


class Allocator:
    """What a host framework's is: notes who takes what on which stream."""

    def __init__(self):
        self.log = []
        self._arrays = {}
        self.allocate = library.AllocateFunction(self._allocate)
        self.free = library.FreeFunction(self._free)

    def _allocate(self, context, ordinal, size, stream):
        array = np.empty(size + 64, np.uint8)
        address = -(-array.ctypes.data // 64) * 64
        self._arrays[address] = array
        self.log.append(["take", ordinal, stream])
        return address

    def _free(self, context, ordinal, memory, stream):
        del self._arrays[memory]
        self.log.append(["give back", ordinal, stream])


def run_on(driver, ordinal, allocator):
    lib = library.load()
    handle = library.make_handle(
        lib.stoker_compile, client.client().handle, parsed(),
        ctypes.byref(options_of(device=f"cuda:{ordinal}".encode())))
    described = json.loads(library.take_text(lib.stoker_executable_describe, handle))
    x, w, z = (np.zeros((ROWS, COLUMNS), np.float32) for _ in range(3))
    calls = []

    def host(context, number, operands, results, sizes):
        calls.append([operands[0], results[0], sizes[0], sizes[1], driver.log()])
        return 0

    function = library.HostFunction(host)
    lib.stoker_executable_set_host(handle, function, None)
    driver.use(ordinal)
    stream = driver.stream()
    versions = (ctypes.c_int64 * 1)(1)
    library.check(lib.stoker_executable_bind(handle, pointers(w), versions, 1, stream))
    before = driver.log()
    library.check(lib.stoker_executable_run(
        handle, pointers(x, None), 2, None, 0, pointers(z), 1, stream))
    at_return = driver.log()
    driver.wait(stream)
    return {
        "source": described["source"], "device": described["device"], "key": described["request_key"],
        "stream": stream.value, "x": x.ctypes.data, "w": w.ctypes.data, "z": z.ctypes.data, "calls": calls,
        "waited": at_return != before, "log": driver.log()[len(before):], "memory": allocator.log}


def main():
    if sys.argv[1] == "record":
        for target in sys.argv[2:]:
            library.check(library.load().stoker_record_request(
                client.client().handle, parsed(), ctypes.byref(options_of(target=target.encode()))))
        return
    driver = FakeDriver()
    target = library.take_text(library.load().stoker_device_target, b"cuda:1")
    first = run_on(driver, 0, Allocator())
    allocator = Allocator()
    library.check(library.load().stoker_set_device_allocator(allocator.allocate, allocator.free, None))
    second = run_on(driver, 1, allocator)
    print(json.dumps({"target": target, "runs": [first, second]}))


if __name__ == "__main__":
    main()
