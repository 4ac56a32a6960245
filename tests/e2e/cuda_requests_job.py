"""Graphs of CUDA tensors, lowered without a GPU, and what would be asked of a daemon for them, into the manifest that
STOKER_RECORD names. Prints {name: [segments, calls of PyTorch inside them, operators outside]}."""

import json
import sys

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from device.road.workloads import Block, shallow_water, softmax_ln
from stoker.graph.program import Segment
from stoker.libstoker.client import client
from stoker.lowering.lower import lower

BF16, F32 = torch.bfloat16, torch.float32


def feed_forward(x, norm, up, up_bias, down, down_bias):
    hidden = F.layer_norm(x, norm.shape, norm)
    return x + F.linear(F.gelu(F.linear(hidden, up, up_bias)), down, down_bias)


def rows(table, places, labels, weight):
    scores = F.embedding(places, table) @ weight
    return F.cross_entropy(scores.float(), labels)


PROGRAMS = {
    "softmax_ln": (softmax_ln, BF16, [(512, 8192), (8192,), (8192,)]),
    "shallow_water": (shallow_water, F32, [(256, 256)] * 3),
    "feed_forward": (feed_forward, BF16, [(4, 128, 768), (768,), (3072, 768), (3072,), (768, 3072), (768,)]),
    "dropout": (lambda x: F.dropout(x, 0.1).relu() * 2, F32, [(64, 1000)]),
    "rows": (rows, F32, [(50, 16), "i64 8", "i64 8", (16, 32)]),
    "sums": (lambda x: (x.sum(), x.var(0), x.amax(-1), x.cumsum(0) + 1), F32, [(300, 1025)]),
}


def graph_of(function, inputs, mode):
    graphs = []

    class Program(torch.nn.Module):
        def forward(self, *arguments):
            results = function(*arguments)
            return (results,) if isinstance(results, torch.Tensor) else tuple(results)

    def keep(gm, _):
        graphs.append(gm)
        return gm.forward

    with mode, torch.no_grad():
        aot_module_simplified(Program(), inputs, fw_compiler=keep, inference_compiler=keep)
    return graphs[0]


def fake(shape, dtype):
    if isinstance(shape, str):
        return torch.empty(int(shape.split()[1]), dtype=torch.int64, device="cuda:0")
    return torch.empty(shape, dtype=dtype, device="cuda:0")


def unet_block(block):
    """(function, inputs) with the parameters as inputs."""
    held = dict(block.named_parameters())

    def run(*values):
        return torch.func.functional_call(block, dict(zip(held, values)), values[len(held):])

    inputs = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda:0") for x in held.values()]
    image = torch.empty((2, 320, 32, 32), dtype=BF16, device="cuda:0").to(memory_format=torch.channels_last)
    return run, [*inputs, image, fake((2, 1280), BF16)]


def main():
    block = Block().to(BF16).to(memory_format=torch.channels_last)
    found = {}
    for name in [*PROGRAMS, "unet_block"]:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            if name == "unet_block":
                function, inputs = unet_block(block)
            else:
                function, dtype, shapes = PROGRAMS[name]
                inputs = [fake(shape, dtype) for shape in shapes]
        program = lower(graph_of(function, inputs, mode), ())
        texts = [step.text for step in program.steps if isinstance(step, Segment)]
        for text in texts:
            client().record(text)  # For this processor: the GPU is named when it is compiled.
        outside = [str(step.target) for step in program.steps if not isinstance(step, Segment)]
        found[name] = [len(texts), sum(text.count("extern_call(") for text in texts), outside]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
