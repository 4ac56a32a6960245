"""Are results right? Each line: PASS or FAIL, what, how far Stoker and eager are from a wider eager, what ran.

An error is the largest one over the largest element of what is compared. Stoker's may be three times eager's own, or what one
rounding of the dtype is worth. Steps of 16-bit images, and of whole models of images, are compared in several draws, of which
the one in the middle counts: where a sum is about zero, one rounding decides whether a ReLU lets a gradient through, and an
element of it is all wrong, in eager as often."""

import argparse
import contextlib
import copy
import fnmatch
import logging
import sys
import threading
import time
import traceback

import torch
from torch.nn import functional as F

import stoker
from device.road.calls import CALLS, late_capture, require, side_stream
from device.road.compare import WIDER, compare, compiled, errors_of, full_precision, judge, tensors
from device.road.images import IMAGES
from device.road.sizes import cases_of_sizes, cases_of_training
from device.road.updates import UPDATES
from device.road.workloads import MODELS, softmax_ln

DRAWS = 5
OF_IMAGES = ("vit", "resnet50", "unet")  # Of MODELS.


class Warnings(logging.Handler):
    """What Stoker says while a check runs."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def step(function, inputs):
    """(results, gradients) of one training step."""
    module = function if isinstance(function, torch.nn.Module) else getattr(function, "_orig_mod", None)
    floats = [x.detach().requires_grad_() if x.is_floating_point() else x for x in inputs]
    results = tensors(function(*floats))
    loss = sum((result.float() ** 2).mean() for result in results)
    loss.backward()
    held = list(module.parameters()) if module is not None else []
    gradients = [x.grad for x in (*floats, *held) if x.grad is not None]
    for parameter in held:
        parameter.grad = None
    return [loss.detach(), *gradients]


def widened(workload, dtype, device, training, seed):
    function, inputs = workload.build(dtype, device, training, seed)
    wide = WIDER[dtype]
    if isinstance(function, torch.nn.Module):
        function = function.to(wide)
    return function, tuple(x.to(wide) if x.is_floating_point() else x for x in inputs)


def results_of_model(workload, dtype, device, training, mode, seed=0):
    """(Stoker's, eager's, a wider eager's)"""
    run = step if training else (lambda function, inputs: tensors(function(*inputs)))
    with torch.set_grad_enabled(training):
        function, inputs = workload.build(dtype, device, training, seed)
        eager = run(function, inputs)
        function, inputs = workload.build(dtype, device, training, seed)
        faster = compiled(function, mode=mode)
        for _ in range(1 if mode is None else 6):  # Unrecorded at first.
            found = run(faster, inputs)
        function, inputs = widened(workload, dtype, device, training, seed)
        return found, eager, run(function, inputs)


def check_model(workload, dtype, device, training, mode):
    return compare(*results_of_model(workload, dtype, device, training, mode), dtype)


def check_step(workload, dtype, device):
    """What lies in the middle of several draws, of each tensor: how far Stoker is from the wider result beside what it may be
    there, for a draw that decides an element otherwise in eager does so in Stoker, too, and seldom in one alone."""
    draws = [results_of_model(workload, dtype, device, True, None, seed) for seed in range(DRAWS)]
    medians = [
        sorted(each, key=lambda pair: pair[0] / (pair[1] or torch.finfo(dtype).eps))[DRAWS // 2]
        for each in zip(*(errors_of(*draw) for draw in draws))]
    return judge(medians, draws[0][1], dtype)


# ---- Small programs ---------------------------------------------------------------------------------

SMALL = {
    "pointwise": (lambda x, y: (x * y).sin() + torch.exp(-x.abs()) / (1 + y * y), [(1000, 37), (1000, 37)]),
    "broadcast": (lambda x, y: x[:, None] * y + torch.arange(7, device=x.device), [(64,), (64, 7)]),
    "sums": (lambda x: (x.sum(-1), x.mean(0), x.amax(), x.var(1)), [(300, 1025)]),
    "softmax": (lambda x: x.softmax(-1).log(), [(129, 777)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (512,), w, b), [(100, 512), (512,), (512,)]),
    "batch_norm": (lambda x, w, b, m, v: F.batch_norm(x, m.detach(), v.detach().abs() + 1, w, b), [(4, 32, 9, 7)] + [(32,)] * 4),
    "group_norm": (lambda x: F.group_norm(x, 8), [(2, 32, 16, 16)]),
    "transposed": (lambda x: (x.t() + 1).contiguous() * 2, [(123, 45)]),
    "sliced": (lambda x: torch.cat([x[:, ::2], x[:, 1::2]], 1).roll(3, 1), [(50, 64)]),
    "linear": (lambda x, w, b: F.relu(F.linear(x, w, b)) + 1, [(70, 96), (33, 96), (33,)]),
    "odd_columns": (lambda x, w: (x @ w.t()).log_softmax(-1), [(1030, 520), (2049, 520)]),
    "products": (lambda x, y: ((x + 1) @ (y * 2)).tanh().sum(-1), [(4, 30, 40), (4, 40, 50)]),
    "convolution": (lambda x, w, b: F.conv2d(x + 1, w, b, padding=1, stride=2).relu(), [(2, 8, 33, 33), (16, 8, 3, 3), (16,)]),
    "depthwise": (lambda x, w: F.conv2d(x + 1, w, padding=1, groups=16).relu(), [(2, 16, 20, 20), (16, 1, 3, 3)]),
    "pooling": (lambda x: F.max_pool2d(x + 1, 3, 2) * 2, [(2, 8, 33, 33)]),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q + 1, k, v, is_causal=True) * 2, [(2, 4, 64, 64)] * 3),
    "sorted": (lambda x: (x + 1).sort(-1)[0] * 2, [(33, 65)]),
    "cumulative": (lambda x: (x + 1).cumsum(-1) * 2, [(33, 65)]),
    "scalar_of_cpu": (lambda x, s: x * s + 1, [(33, 65), "cpu"]),
    "empty": (lambda x: (x + 1).sum(0), [(0, 5)]),
}


def _masked(make):
    """Attention with a boolean mask of 2 batches, 4 heads, 64 queries and keys."""
    return lambda q, k, v: F.scaled_dot_product_attention(q + 1, k, v, attn_mask=make(q)) * 2, [(2, 4, 64, 64)] * 3


# How masks lie: of keys, of queries (some keep nothing), transposed, of one number; and two that shapes alone decide.
SMALL |= {f"mask_{name}": _masked(make) for name, make in {
    "keys": lambda q: (q[:, :1, :1, :] > -1).expand(2, 4, 64, 64),
    "queries": lambda q: (q[:1, :1, :, :1] > -1).expand(2, 4, 64, 64),
    "kept_queries": lambda q: (q[:1, :1, :, :1] < 100).expand(2, 4, 64, 64),
    "transposed": lambda q: (q[:, :1] > -1).transpose(2, 3),
    "number": lambda q: (q[:1, :1, :1, :1] < 100).expand(2, 4, 64, 64),
    "floats": lambda q: q[:1, :1, :, :1].expand(2, 4, 64, 64),
    "all": lambda q: (torch.arange(64, device=q.device)[:, None] >= 0).expand(2, 1, 64, 64),
    "causal": lambda q: torch.ones(64, 64, dtype=torch.bool, device=q.device).tril()[None, None],
}.items()}

# Products whose rows lie at no multiple of 16 bytes, and what a library takes along.
SMALL |= {
    "odd_head": (lambda x, w: F.linear(x + 1, w), [(1, 96, 512), (5001, 512)]),
    "odd_head_bias": (lambda x, w, b: F.linear(x + 1, w, b).relu(), [(96, 512), (5001, 512), (5001,)]),
    "odd_head_row": (lambda x, w: F.linear(x + 1, w), [(1, 1, 512), (5001, 512)]),
    "odd_head_read": (lambda x, w: F.linear(x + 1, w).softmax(-1), [(96, 512), (5001, 512)]),
    "odd_columns": (lambda x, w: (x + 1) @ w * 2, [(96, 127), (127, 255)]),
    "odd_batch": (lambda x, y: ((x + 1) @ y).exp(), [(3, 40, 63), (3, 63, 41)]),
    "linear_gelu": (lambda x, w, b: F.gelu(F.linear(x + 1, w, b)), [(2, 64, 96), (256, 96), (256,)]),
    "linear_gelu_tanh": (lambda x, w, b: F.gelu(F.linear(x + 1, w, b), approximate="tanh"), [(2, 64, 96), (256, 96), (256,)]),
    "linear_residual_norm": (lambda x, r, w, b: F.layer_norm(F.linear(x + 1, w, b) + r, (256,)) * r,
                             [(2, 64, 96), (2, 64, 256), (256, 96), (256,)]),
}


def small_inputs(shapes, dtype, device):
    torch.manual_seed(1)
    return [torch.tensor(0.75) if shape == "cpu" else torch.randn(shape, device=device).to(dtype) for shape in shapes]


def check_small(name, dtype, device, training, mode):
    function, shapes = SMALL[name]
    inputs = small_inputs(shapes, dtype, device)
    wide = [x.to(WIDER[dtype]) for x in inputs]
    faster = compiled(function, mode=mode)
    if training:
        return compare(step(faster, inputs), step(function, inputs), step(function, wide), dtype)
    return compare(tensors(faster(*inputs)), tensors(function(*inputs)), tensors(function(*wide)), dtype)


# The largest errors of compiler/NUMERICS.md, in units in the last place: (on CPUs, on GPUs)
FUNCTIONS = {"exp": (1.05, 2.25), "exp2": (1.05, 1.05), "sigmoid": (2.5, 4), "tanh": (5.5, 6), "erf": (6, 6.5), "erfc": (6, 6.5),
             "log": (1, 1), "log2": (1.8, 1.8), "rsqrt": (1.5, 1.5), "sqrt": (0.5, 0.5)}


def every_float(device, mode):
    """Functions of f32 over every number there is, on a CPU over those from 2^-14 to 2^8, beside float64."""
    def of(x):
        return [getattr(torch.special if name == "erfc" else torch, name)(x) for name in FUNCTIONS]

    run, worst = compiled(of, mode=mode), dict.fromkeys(FUNCTIONS, 0.0)
    step = 1 << (26 if device.type == "cuda" else 21)
    exponents = (0, 256) if device.type == "cuda" else (113, 135)
    for sign in (0, -1 << 31):
        for first in range(exponents[0] << 23, exponents[1] << 23, step):
            x = torch.arange(first + sign, first + sign + step, dtype=torch.int32, device=device).view(torch.float32)
            for name, found, exact in zip(FUNCTIONS, run(x), of(x.double()), strict=True):
                worst[name] = max(worst[name], _largest_ulps(found.double(), exact))
    print("        " + ", ".join(f"{name} {ulps:.3f}" for name, ulps in worst.items()), flush=True)
    bounds = {name: bound[device.type == "cuda"] for name, bound in FUNCTIONS.items()}
    return require(all(worst[name] <= bound for name, bound in bounds.items()), f"{worst} where {bounds} is stated")


def _largest_ulps(found, exact):
    """In the last place of a float; infinite where one is NaN alone, or has another sign. Infinity stands for 2^128."""
    wrong = (found.isnan() != exact.isnan()) | (~exact.isnan() & (found.signbit() != exact.signbit()))
    if wrong.any():
        return float("inf")
    found, exact = found.clamp(-2.0**128, 2.0**128), exact.clamp(-2.0**128, 2.0**128)
    exponents = (torch.frexp(exact).exponent - 1).clamp(-126, 127)
    errors = torch.ldexp((found - exact).abs(), 23 - exponents)
    return errors.nan_to_num(0.0).max().item()


def chain(rank):
    """(a network of convolutions as a residual network has them, eval; a shape of images): all is taken along, in bfloat16."""
    convolution, norm = {2: (torch.nn.Conv2d, torch.nn.BatchNorm2d), 3: (torch.nn.Conv3d, torch.nn.BatchNorm3d)}[rank]

    class Chain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolutions = torch.nn.ModuleList([convolution(64, 64, 3, padding=1, bias=number == 0) for number in range(4)])
            self.norms = torch.nn.ModuleList([norm(64) for _ in range(3)])
            for each in self.norms:
                torch.nn.init.normal_(each.weight)
                torch.nn.init.normal_(each.bias)
                each.running_mean.normal_()
                each.running_var.uniform_(0.3, 2)

        def forward(self, x):
            y = F.relu(self.convolutions[0](x))
            z = F.relu(self.norms[0](self.convolutions[1](y)) + self.norms[1](self.convolutions[2](x)))
            return y, z, F.relu(self.norms[2](self.convolutions[3](z)) + x)

    return Chain().eval(), (4, 64, *[14, 12, 5][:rank])


def convolutions_fused(device, mode, rank=2, dtype=torch.bfloat16):
    """Are they one kernel each, as exact as eager, with infinities and NaN where eager has them, and the same in every call if
    asked for? A weight that changes behind PyTorch's back counts at once."""
    torch.manual_seed(4)
    layout = torch.channels_last if rank == 2 else torch.channels_last_3d
    model, shape = chain(rank)
    model = model.to(device, dtype).to(memory_format=layout)
    faster, before, worst = compiled(model, mode=mode), stoker.counters(), (0.0, 0.0, "")
    for value in (None, None, float("nan"), float("inf"), -float("inf"), None):
        x = torch.randn(shape, device=device).to(dtype).to(memory_format=layout)
        if value is None:
            model.convolutions[1].weight.data.mul_(0.75)
        else:
            x[(0,) * x.dim()] = value
        with torch.no_grad():
            found, eager = faster(x), model(x)
            wider = copy.deepcopy(model).float()(x.float())
        for number, (mine, theirs) in enumerate(zip(found, eager)):
            same = all(torch.equal(test(mine), test(theirs)) for test in (torch.isnan, torch.isposinf, torch.isneginf))
            require(same, f"NaN or infinities of tensor {number} lie otherwise, with {value} in the image")
        worst = max(worst, compare(found, eager, wider, dtype), key=lambda each: each[0])
        if worst[2]:
            return worst
    counted = {name: stoker.counters().get(name, 0) - before.get(name, 0) for name in ("convolutions_fused", "convolutions_in_steps")}
    print(f"        {counted}", flush=True)
    require(device.type == "cpu" or counted["convolutions_in_steps"] == 0, f"{counted}: some are computed in steps")
    return worst


def convolutions_repeat(device, mode):
    torch.backends.cudnn.deterministic = True
    try:
        model, shape = chain(2)
        model = model.to(device, torch.bfloat16).to(memory_format=torch.channels_last)
        x = torch.randn(shape, device=device).to(torch.bfloat16).to(memory_format=torch.channels_last)
        faster = compiled(model, mode=mode)
        with torch.no_grad():
            first = [result.clone() for result in faster(x)]
            return require(all(
                torch.equal(one, other) for _ in range(20) for one, other in zip(first, faster(x))), "another result")
    finally:
        torch.backends.cudnn.deterministic = False


def convolutions_recorded(device, mode):
    """Are kernels that are launched without cuDNN, and without Python, those that it would launch: on images and for results that
    lie elsewhere, in several streams and threads, whatever bits are asked for meanwhile?"""
    class Between(torch.nn.Module):
        """Kernels stand on both sides: calls of PyTorch are part of a plan."""

        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return [F.gelu(each) + 1 for each in self.inner(torch.tanh(x))]

    torch.manual_seed(5)
    model, shape = chain(2)
    model = Between(model).to(device, torch.bfloat16).to(memory_format=torch.channels_last)
    shape = 1, shape[1], 56, 56  # Some kernels work in memory that they are given in each call: they stay cuDNN's.
    images = [torch.randn(shape, device=device).to(torch.bfloat16).to(memory_format=torch.channels_last) for _ in range(3)]
    faster, before = compiled(model, mode=mode), stoker.counters().get("convolutions_recorded", 0)

    def call(number, image):
        with torch.no_grad():
            found = faster(image)
        for one, other in zip(found, expected[number % len(images)], strict=True):
            torch.testing.assert_close(one.float(), other.float(), rtol=0.0, atol=2**-6 * other.float().abs().max().item())
        return found

    def calls_of_thread(errors):
        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.default_stream())
            with torch.cuda.stream(stream):
                for number in range(40):
                    call(number, images[number % 3])
        except BaseException as error:
            errors.append(error)

    with torch.no_grad():
        expected = [model(image) for image in images]
    held = []
    for number in range(90):
        is_moving = number >= 20  # Until then everything lies where it lay.
        torch.backends.cudnn.deterministic = 30 <= number < 50 or (is_moving and number % 7 == 6)
        if number in (20, 60):
            held.clear()
            torch.cuda.empty_cache()
        number *= is_moving
        image = images[number % 3].clone() if number % 5 == 4 else images[number % 3]
        found = call(number, image)
        held = [*held[-4:], found] if number % 2 else held
        del found
    torch.backends.cudnn.deterministic = False
    torch.cuda.synchronize()
    errors = []
    threads = [threading.Thread(target=calls_of_thread, args=(errors,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(not errors, f"a thread: {errors[:1]}")
    recorded = stoker.counters().get("convolutions_recorded", 0) - before
    print(f"        {recorded} recorded", flush=True)
    return require(mode is not None or recorded >= 1, f"{recorded} convolutions were recorded")


def standing_rows(device, mode):
    """Rows that blocks take in turns, of which some have one more than others: are all of them right, and those that lie at
    no address of an access?"""
    torch.manual_seed(6)
    rows, columns, worst = 5301, 8192, (0.0, 0.0, "")
    for dtype in (torch.bfloat16, torch.float16):
        faster = compiled(softmax_ln, mode=mode)
        for first in (0, 1):
            memory = torch.randn(rows * columns + first, device=device).to(dtype)
            x = memory[first:].view(rows, columns)
            w, b = (torch.randn(columns, device=device).to(dtype) for _ in range(2))
            found, eager = faster(x, w, b), softmax_ln(x, w, b)
            wider = softmax_ln(x.float(), w.float(), b.float())
            worst = max(worst, compare([found], [eager], [wider], dtype), key=lambda each: each[0])
    return worst


# ---- Running ----------------------------------------------------------------------------------------


def cases(device):
    for mode in (None, "reduce-overhead"):
        suffix = "" if mode is None else " replayed"
        for name, function in CALLS.items():
            if function in (late_capture, side_stream) and device.type == "cpu":
                continue
            yield f"calls {name}{suffix}", lambda function=function, mode=mode: function(device, mode)
        for name, function in UPDATES.items():
            yield f"updates {name}{suffix}", lambda function=function, mode=mode: function(device, mode)
        yield f"convolutions repeat{suffix}", lambda mode=mode: convolutions_repeat(device, mode)
        if device.type == "cuda":
            yield f"convolutions recorded{suffix}", lambda mode=mode: convolutions_recorded(device, mode)
            yield f"rows standing{suffix}", lambda mode=mode: standing_rows(device, mode)
        for rank, dtype in ((2, torch.bfloat16), (2, torch.float16), (3, torch.bfloat16)):
            yield f"convolutions fused {rank}d {str(dtype).removeprefix('torch.')}{suffix}", (
                lambda mode=mode, rank=rank, dtype=dtype: convolutions_fused(device, mode, rank, dtype))
    yield "functions of every float", lambda: every_float(device, None)
    for dtype in (torch.float32, torch.bfloat16):
        kind = str(dtype).removeprefix("torch.")
        for name in SMALL:
            for training in (False, True) if name not in ("scalar_of_cpu",) else (False,):
                yield f"small {name} {kind}{' training' if training else ''}", (
                    lambda name=name, dtype=dtype, training=training: check_small(name, dtype, device, training, None))
    for name in MODELS:
        for dtype in (torch.float32, torch.bfloat16):
            if name == "shallow_water" and dtype != torch.float32:
                continue
            kind = str(dtype).removeprefix("torch.")
            for training, mode, suffix in (
                    (False, None, ""), (False, "reduce-overhead", " replayed"), (True, None, " training")):
                has_draws = training and name in OF_IMAGES
                yield f"model {name} {kind}{suffix}", _check_of(MODELS[name], dtype, device, training, mode, has_draws)
    yield from cases_of_images(device)
    yield from cases_of_sizes(device)
    yield from cases_of_training(device)


def _check_of(workload, dtype, device, training, mode, has_draws):
    if has_draws:
        return lambda: check_step(workload, dtype, device)
    return lambda: check_model(workload, dtype, device, training, mode)


def cases_of_images(device):
    for name, workload in IMAGES.items():
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            kind = str(dtype).removeprefix("torch.")
            for training in (False, True):
                has_draws = training and dtype != torch.float32
                words = f"image {name} {kind}{' training' if training else ''}"
                yield words, _check_of(workload, dtype, device, training, None, has_draws)
        yield f"image {name} tf32", lambda workload=workload: check_with_tf32(workload, device)


def check_with_tf32(workload, device):
    """As PyTorch has it by default: convolutions may lose digits, products may not."""
    torch.backends.cudnn.allow_tf32 = True
    try:
        return check_model(workload, torch.float32, device, False, None)
    finally:
        torch.backends.cudnn.allow_tf32 = False


def run(name, case, said):
    before, operators = stoker.counters(), stoker.fallback_ops()
    said.lines.clear()
    started = time.perf_counter()
    try:
        error, own, why = case()
    except Exception as failure:
        traceback.print_exc(limit=4)
        error = own = float("nan")
        why = f"{type(failure).__name__}: {failure}".strip().partition("\n")[0][:300]
    counters = {key: value - before.get(key, 0) for key, value in stoker.counters().items()}
    if counters.get("graphs_eager") or not counters.get("graphs"):
        why = why or "a graph ran in eager"
    fallbacks = sum(stoker.fallback_ops().values()) - sum(operators.values())
    print(f"{'FAIL' if why else 'PASS'}  {name:44} error {error:8.2e}, eager's {own:8.2e}; "
          f"{counters.get('graphs', 0)} graphs, {fallbacks} fallbacks, {time.perf_counter() - started:5.1f} s  {why}", flush=True)
    for line in dict.fromkeys(said.lines):
        print(f"        {line[:300]}", flush=True)
    return not why


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", default=["*"], help="which: 'small *', 'model bert *'")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=1e9, help="no check is started after so many")
    chosen = parser.parse_args()
    device, said = torch.device(chosen.device), Warnings()
    logging.getLogger("stoker").addHandler(said)
    started, results, left = time.perf_counter(), [], []
    with full_precision():
        for name, case in cases(device):
            if not any(fnmatch.fnmatch(name, pattern) for pattern in chosen.patterns):
                continue
            if time.perf_counter() - started > chosen.seconds:
                left.append(name)
                continue
            results.append(run(name, case, said))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, {len(left)} not started", flush=True)
    sys.exit(0 if all(results) and results else 1)


if __name__ == "__main__":
    main()
