"""A job without PyTorch: compiles the graph of a file over the C interface and runs it on arrays that standard input says, as
JSON: {"inputs": [[dtype, elements]], "outputs": [[dtype, shape]], "symbols": [...]} for each call, a line each. Prints what
each gives, a line each: {"outputs": [elements]} or {"error": its message}."""

import ctypes
import json
import pathlib
import sys

import numpy as np

from e2e.light_job import compile_for
from stoker.libstoker import library


def run(handle, call):
    inputs = [np.array(elements, dtype) for dtype, elements in call["inputs"]]
    outputs = [np.zeros(shape, dtype) for dtype, shape in call["outputs"]]
    symbols = call["symbols"]

    def addresses(arrays):
        return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])

    library.check(library.load().stoker_executable_run(
        handle, addresses(inputs), len(inputs), (ctypes.c_int64 * len(symbols))(*symbols), len(symbols),
        addresses(outputs), len(outputs), None))
    return [output.tolist() for output in outputs]


def main():
    handle = compile_for(None, pathlib.Path(sys.argv[1]).read_text())
    for line in sys.stdin:
        try:
            print(json.dumps({"outputs": run(handle, json.loads(line))}))
        except library.StokerError as error:
            print(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
