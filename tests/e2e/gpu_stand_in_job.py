"""Programs as they run on a GPU, with the cores in its place: the same division of work between kernels and PyTorch, the same
executables, host calls and recordings' rules. Prints what went wrong, as JSON."""

import copy
import json

import torch
from torch.nn import functional as F

import stoker
from stoker.captures.install import loading
from stoker.lowering import compiling, lower, targets
from stoker.pytorch import devices
from stoker.runtime import cuda_executable, gpu_memory

targets.ABSENT["cpu"] = targets.ABSENT["cuda"]
targets.OF_LIBRARIES["cpu"] = targets.OF_LIBRARIES["cuda"]
lower._Lowering.reads_limits = False
lower._Lowering.is_bound = lambda self, node: False
gpu_memory.share = lambda: None
devices.stream_of = lambda device: 0
compiling.executable_on = loading.executable_on = lambda device, handle, segment, on_bind, verifies=False: (
    cuda_executable.CudaExecutable(handle, device, verifies))
within = []  # What kernels say of indices, which fail on a GPU and go on here.


def _place_of_checks(self):
    within.append(torch.empty((), dtype=torch.bool))
    return within[-1]


cuda_executable.SizedOnCuda._place_of_checks = _place_of_checks

MODEL = torch.nn.Sequential(
    torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 16), torch.nn.Softmax(-1))


class Block(torch.nn.Module):
    """Of a residual network."""

    def __init__(self, channels):
        super().__init__()
        self.convolutions = torch.nn.ModuleList([torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2)])
        self.norms = torch.nn.ModuleList([torch.nn.BatchNorm2d(channels) for _ in range(2)])

    def forward(self, x):
        y = F.relu(self.norms[0](self.convolutions[0](x)), inplace=True)
        return F.relu(self.norms[1](self.convolutions[1](y)) + x) * 2


IMAGES = torch.randn(2, 8, 12, 12).to(memory_format=torch.channels_last)
BLOCK = Block(8).bfloat16().to(memory_format=torch.channels_last).eval()
PROGRAMS = {
    "block": (BLOCK, IMAGES.bfloat16()),
    "model": (MODEL, torch.randn(32, 64)),
    "transposed": (MODEL, torch.randn(64, 32).t()),
    "rows": (lambda table, places: F.embedding(places, table) * 2, torch.randn(50, 8), torch.tensor([1, 49, 0])),
    "images": (lambda x, w, b: F.conv2d(F.conv2d(x + 1, w, b, padding=1).relu(), w, b).relu(),
               IMAGES, torch.randn(8, 8, 3, 3), torch.randn(8)),
    "sorted": (lambda x: (x + 1).sort(-1)[0] * 2, torch.randn(10, 10)),
    "held": (lambda x, weight=torch.randn(16, 8).t(): (x @ weight).relu() + weight[:, :1].sum(), torch.randn(4, 8)),
}


def run(name):
    function, *inputs = PROGRAMS[name]
    compiled = torch.compile(function, backend="stoker")
    with torch.no_grad():
        for _ in range(4):
            bound = 1e-4 if inputs[0].dtype == torch.float32 else 4e-2
            torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=bound, atol=bound)
            if function is BLOCK:
                BLOCK.norms[0].running_var.mul_(1.5)
                BLOCK.convolutions[1].weight.data.mul_(0.5)  # Nobody says so.
            if function is MODEL:
                MODEL[0].weight.mul_(1.1)  # In place.
                MODEL[3].weight.data = MODEL[3].weight.data + 0.1  # Elsewhere.


def train():
    gradients = []
    for function in (torch.compile(MODEL, backend="stoker"), MODEL):
        function(torch.linspace(0, 1, 640).reshape(10, 64)).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in MODEL.parameters()])
        MODEL.zero_grad(set_to_none=True)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def update():
    """What kernels write to inputs, that stay, lie otherwise, or have others' memory; statistics; an optimizer's step."""
    def step(x, m, g):
        m.mul_(0.9).add_(g)
        x.sub_(m * 0.1 / (m.abs().mean(-1, keepdim=True) + 1))
        return x.sum(-1)

    compiled, memory = torch.compile(step, backend="stoker"), torch.randn(4, 9, 17)
    for places in (lambda x: x[:3], lambda x: [each.t() for each in x[:3].clone()], lambda x: [x[0], x[0], x[3]]):
        ours, theirs = places(memory.clone()), places(memory.clone())
        for _ in range(4):
            torch.testing.assert_close(compiled(*ours), step(*theirs))
            torch.testing.assert_close(list(ours), list(theirs))
    for norm in (torch.nn.BatchNorm2d(8), torch.nn.Sequential(torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8))):
        other = copy.deepcopy(norm)
        compiled = torch.compile(norm, backend="stoker")
        for _ in range(3):
            torch.testing.assert_close(compiled(IMAGES), other(IMAGES))
            torch.testing.assert_close(dict(norm.named_buffers()), dict(other.named_buffers()))
    found = []
    for wrap in (torch.compile, lambda function, backend: function):
        torch.manual_seed(0)
        parameters = [torch.nn.Parameter(torch.randn(size)) for size in (3, 40, 41)]
        optimizer = torch.optim.AdamW(parameters, lr=0.1)
        run = wrap(optimizer.step, backend="stoker")
        for _ in range(4):
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            run()
        found.append([parameter.detach() for parameter in parameters])
    torch.testing.assert_close(*found)


def read_out_of_bounds():
    function, table, _ = PROGRAMS["rows"]
    compiled = torch.compile(function, backend="stoker")
    for places, is_within in (([1, 49], True), ([1, 50], False), ([0, 0], True), ([-1, 3], False)):
        compiled(table, torch.tensor(places))
        assert bool(within[-1]) == is_within, places


def main():
    wrong = []
    for name, check in (*((name, lambda name=name: run(name)) for name in PROGRAMS), ("training", train), ("updates", update),
                        ("bounds", read_out_of_bounds)):
        torch._dynamo.reset()
        try:
            check()
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}"[:500])
    print(json.dumps({"wrong": wrong, "counters": stoker.counters(), "fallbacks": stoker.fallback_ops()}))


if __name__ == "__main__":
    main()
