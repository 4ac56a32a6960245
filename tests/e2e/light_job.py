"""A job without PyTorch: compiles a chain of layers over the C interface, runs it, prints one JSON line.

usage: light_job.py [--target TARGET] [--constants] WIDTH...   tanh(x @ w) for each two consecutive widths; x has two
rows, and each w is an input, or a constant of the graph
"""

import argparse
import ctypes
import json

import numpy as np

from stoker.libstoker import client, library

ROWS = 2


def graph_text(widths, constants=()):
    inputs = [f"%0: f32[{ROWS},{widths[0]}]"]
    weights = [f"f32[{a},{b}]" for a, b in zip(widths, widths[1:])]
    lines = [
        f'%{i + 1} = constant() bytes("{constant.tobytes().hex()}") : {weights[i]}'
        for i, constant in enumerate(constants)]
    if not constants:
        inputs += [f"%{i + 1}: {weight}" for i, weight in enumerate(weights)]
    value, fresh = 0, len(widths)
    for i, width in enumerate(widths[1:]):
        lines.append(
            f"%{fresh} = dot_general(%{value}, %{i + 1}) {{lhs_batch=[], rhs_batch=[], "
            f"lhs_contract=[1], rhs_contract=[0]}} : f32[{ROWS},{width}]")
        lines.append(f"%{fresh + 1} = tanh(%{fresh}) : f32[{ROWS},{width}]")
        value, fresh = fresh + 1, fresh + 2
    body = "\n  ".join(lines)
    return f"graph @chain({', '.join(inputs)}) {{\n  {body}\n  return %{value}\n}}\n"


def run(handle, arrays, output):
    lib = library.load()
    pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
    results = (ctypes.c_void_p * 1)(output.ctypes.data)
    library.check(lib.stoker_executable_run(handle, pointers, len(arrays), None, 0, results, 1, None))


def compile_for(target, text):
    """The handle of an executable for another processor's code, which this one runs, too."""
    lib = library.load()
    encoded = text.encode()
    graph = library.make_handle(lib.stoker_graph_parse, encoded, len(encoded))
    options = library.CompileOptions(
        struct_size=library.sizeof(library.CompileOptions), target=library.encode(target))
    try:
        return library.make_handle(
            lib.stoker_compile, client.client().handle, graph, ctypes.byref(options))
    finally:
        lib.stoker_graph_free(graph)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("widths", nargs="+", type=int)
    arguments = parser.parse_args()
    widths = arguments.widths
    random = np.random.default_rng(0)
    x = random.standard_normal((ROWS, widths[0]))
    weights = [random.standard_normal(pair) / pair[0] ** 0.5 for pair in zip(widths, widths[1:])]
    arrays = [array.astype(np.float32) for array in (x, *weights)]
    constants = arrays[1:] if arguments.constants else ()
    handle = compile_for(arguments.target, graph_text(widths, constants))
    described = json.loads(
        library.take_text(library.load().stoker_executable_describe, handle))
    output = np.empty((ROWS, widths[-1]), np.float32)
    run(handle, arrays[:1] if constants else arrays, output)
    expected = x
    for weight in weights:
        expected = np.tanh(expected @ weight)
    error = np.linalg.norm(output - expected) / np.linalg.norm(expected)
    print(json.dumps({"error": float(error), **described}))


if __name__ == "__main__":
    main()
