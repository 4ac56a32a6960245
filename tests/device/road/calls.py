"""What calls of compiled programs do to each other, on one GPU: numbers that they draw, results that are kept, inputs that move,
streams, steps of a training, memory. A check is a function of (device, mode) and gives (error, eager's, how)."""

import torch
from torch.nn import functional as F

from device.road.compare import compiled
from stoker.runtime import gpu_memory


def require(condition, what):
    if not condition:
        raise AssertionError(what)
    return 0.0, 0.0, ""


def indices(device, mode):
    table, places = torch.randn(50, 16, device=device), torch.tensor([3, 49, 0], device=device)
    return require(torch.equal(
        compiled(lambda t, i: F.embedding(i, t) * 2, mode=mode)(table, places), F.embedding(places, table) * 2), "another row")


def _drawn(x):
    return F.dropout(F.dropout(x + 1, 0.3) * 2, 0.1) + torch.rand_like(x)


def dropout(device, mode):
    """The same numbers as eager's, in every call."""
    return _same_draws(_drawn, torch.randn(1000, 77, device=device), mode)


def _same_draws(function, x, mode):
    faster = compiled(function, mode=mode)
    torch.manual_seed(5)
    expected = [function(x) for _ in range(6)]
    torch.manual_seed(5)
    found = [faster(x) for _ in range(6)]
    for number, (one, other) in enumerate(zip(found, expected)):
        require(torch.allclose(one, other, rtol=1e-6, atol=1e-6), f"other numbers in call {number}")
    return 0.0, 0.0, ""


def late_capture(device, mode):
    """Dropout's numbers where the stream on which is recorded is behind, but ahead of the first replay's draws."""
    from stoker.runtime.replays import cuda_recorder

    captured = cuda_recorder._captured

    def behind(*arguments):
        torch.cuda._sleep(1 << 25)  # Some 20 ms; the products take ten times as long.
        return captured(*arguments)

    def products_first(x):
        y = x
        for _ in range(8):
            y = (y @ x).tanh()
        return _drawn(x + 0 * y)

    cuda_recorder._captured = behind
    try:
        return _same_draws(products_first, torch.randn(8192, 8192, device=device), mode)
    finally:
        cuda_recorder._captured = captured


def kept_results(device, mode):
    """Results stay what they were, whatever later calls do."""
    faster = compiled(lambda x: (x + 1).softmax(-1), mode=mode)
    inputs = [torch.randn(64, 333, device=device) for _ in range(8)]
    found = [faster(x) for x in inputs]
    for number, (result, x) in enumerate(zip(found, inputs)):
        require(torch.allclose(result, (x + 1).softmax(-1), atol=1e-6), f"the result of call {number} has changed")
    return 0.0, 0.0, ""


def side_by_side(device, mode):
    """Products that need nothing of each other, which the branches of a CUDA graph compute at once: the same bits in every call."""
    def function(x, g, *weights):
        query, key, value = ((x + 1) @ weight for weight in weights)
        back = g @ weights[0].t()
        return (query * key.tanh() + value) @ weights[1], query.t() @ g, x.t() @ back, back.sum(0)

    faster, plain = compiled(function, mode=mode), compiled(function)
    for dtype in (torch.float32, torch.bfloat16):
        weights = [torch.randn(512, 512, device=device).to(dtype) / 16 for _ in range(3)]
        for number in range(40):
            x, g = (torch.randn(384, 512, device=device).to(dtype) for _ in range(2))
            for found, expected in zip(faster(x, g, *weights), plain(x, g, *weights), strict=True):
                require(torch.equal(found, expected), f"{dtype}: other numbers in call {number}")
    return 0.0, 0.0, ""


def moving_inputs(device, mode):
    model = torch.nn.Linear(64, 64, device=device)
    faster = compiled(model, mode=mode)
    with torch.no_grad():
        for number in range(12):
            x = torch.randn(32, 64, device=device)
            require(torch.allclose(faster(x), model(x), atol=1e-5), f"call {number} differs")
            model.weight.mul_(0.9)  # In place.
            if number == 6:
                model.weight = torch.nn.Parameter(model.weight.clone() + 0.1)  # Elsewhere.
    return 0.0, 0.0, ""


def side_stream(device, mode):
    faster, stream = compiled(lambda x: (x * 2).sum(-1), mode=mode), torch.cuda.Stream()
    for _ in range(6):
        x = torch.randn(512, 4096, device=device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = faster(x)
        torch.cuda.current_stream().wait_stream(stream)
        require(torch.allclose(result, (x * 2).sum(-1), rtol=1e-4, atol=1e-3), "another sum")
    return 0.0, 0.0, ""


def training_loop(device, mode):
    """Losses of ten steps, beside eager's."""
    def losses(wrap):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).to(device)
        optimizer, run = torch.optim.AdamW(model.parameters(), lr=1e-2), wrap(model)
        x, y = torch.randn(32, 64, device=device), torch.randn(32, 8, device=device)
        found = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = F.mse_loss(run(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return torch.tensor(found)

    expected, found = losses(lambda model: model), losses(lambda model: compiled(model, mode=mode))
    return require(torch.allclose(found, expected, rtol=1e-4), f"{found} where eager has {expected}")


def backward_in_turns(device, mode):
    """Gradients that are made, and what layers kept let go of, while the backward pass runs; not where it will run again."""
    layers, width, rows = 12, 1024, 4096
    model = torch.nn.Sequential(*[
        layer for _ in range(layers) for layer in (torch.nn.Linear(width, width), torch.nn.GELU())]).to(device)
    x = torch.randn(rows, width, device=device)

    def gradients(loss, **keywords):
        model.zero_grad(set_to_none=True)
        loss.backward(**keywords)
        return [parameter.grad for parameter in model.parameters()]

    def require_same(found, where):
        worst = max(((a - b).norm() / b.norm()).item() for a, b in zip(found, expected))
        require(worst < 1e-3, f"gradients {where} off by {worst}")

    def most_in_steps(run):
        for _ in range(6):
            gradients(run(x).square().mean())
        if device.type == "cpu":
            return 0
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        gradients(run(x).square().mean())
        return torch.cuda.max_memory_allocated(device) - before

    expected, run = gradients(model(x).square().mean()), compiled(model, mode=mode)
    for repeats in (0, 2, 0):
        loss = run(x).square().mean()
        for _ in range(repeats):
            require_same(gradients(loss, retain_graph=True), "of a graph that is kept")
        require_same(gradients(loss), "")
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.clone(), lambda kept: kept):
        require_same(gradients(run(x).square().mean()), "with hooks")
    in_turns, worth = most_in_steps(run), gpu_memory.WORTH
    gpu_memory.WORTH = 1 << 60
    try:
        torch._dynamo.reset()
        at_once = most_in_steps(compiled(model, mode=mode))
    finally:
        gpu_memory.WORTH = worth
    print(f"        {in_turns >> 20} MiB, at once {at_once >> 20}", flush=True)
    require(device.type == "cpu" or mode is not None or at_once - in_turns > 20 << 20, f"{in_turns} bytes, {at_once} at once")
    return 0.0, 0.0, ""

def results_between(device, mode):
    """What a program gives that was recorded last stays while one runs that was recorded first, whatever that one works in."""
    def first(x):
        return (((x @ x).tanh() @ x).tanh() @ x).sum(-1)

    x = torch.randn(2048, 2048, device=device)
    one, other = compiled(first, mode=mode), compiled(lambda x: x * 2 + 1, mode=mode)
    for run in (one, other, one, other):
        for _ in range(4):
            run(x)
    for _ in range(3):
        made = other(x)
        one(x)
        require(torch.equal(made, x * 2 + 1), "a result has changed")
        del made
    return 0.0, 0.0, ""


class Layers(torch.nn.Module):
    """Gives what one of them does, too, which is kept for the backward pass."""

    def __init__(self, layers=8, width=1024):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))

    def forward(self, x):
        shown = None
        for number, layer in enumerate(self.layers):
            x = torch.tanh(layer(x))
            shown = x if number == 2 else shown
        return x.square().mean(), shown


def gradients_in_memory(device, mode):
    """Steps with the loss, gradients or results still there, over several passes, of graphs that are kept: as in eager."""
    model = Layers().to(device)
    kept = []

    def plain(run, x):
        loss, _ = run(x)
        loss.backward()
        return loss  # Which is there until the next step.

    def several(run, x):
        for factor in (1, 2, 3):
            run(x * factor)[0].backward()

    def twice(run, x):
        loss, _ = run(x)
        loss.backward(retain_graph=True)
        loss.backward()

    def with_results(run, x):
        loss, shown = run(x)
        kept.append((shown, shown.clone()))
        loss.backward()

    def with_gradients(run, x):
        run(x)[0].backward()
        kept.extend((parameter.grad, parameter.grad.clone()) for parameter in model.parameters())

    def two_losses(run, x):
        (run(x)[0] + run(x * 2)[0]).backward()

    for step in (plain, several, plain, with_gradients, twice, with_results, two_losses, plain):
        torch._dynamo.reset()
        run, losses = compiled(model, mode=mode), {}
        for number in range(7):
            x, found = torch.randn(2048, 1024, device=device), []
            for each in (run, model):
                model.zero_grad(set_to_none=True)
                losses[each] = (plain if number < 3 else step)(each, x)
                found.append([parameter.grad.clone() for parameter in model.parameters()])
            worst = max(((a - b).norm() / b.norm()).item() for a, b in zip(*found))
            require(worst < 1e-3, f"{step.__name__}: gradients off by {worst} in step {number}")
            require(all(torch.equal(now, then) for now, then in kept), f"{step.__name__}: what was kept has changed")
        kept.clear()
    return 0.0, 0.0, ""


CALLS = {function.__name__: function for function in (
    indices, dropout, late_capture, kept_results, side_by_side, moving_inputs, side_stream, training_loop,
    backward_in_turns, results_between, gradients_in_memory)}
