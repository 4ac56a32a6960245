"""What compiled programs change in place, on one GPU: inputs that stay and that move, that lie at odd addresses or were made in
inference mode, caches, statistics, states of optimizers. A check is a function of (device, mode) and gives (error, eager's, how)."""

import torch
from torch.nn import functional as F

from device.road.compare import compiled

CALLS = 10


def _same(function, make, device, mode, close=1e-5):
    """In each call, with the inputs of make(number of the call): results, inputs afterwards and their versions."""
    faster = compiled(function, mode=mode)
    ours, theirs = make(), make()
    for number in range(CALLS):
        mine, its = ours(number), theirs(number)
        versions = [[None if x.is_inference() else x._version for x in inputs] for inputs in (mine, its)]
        found, expected = faster(*mine), function(*its)
        torch.testing.assert_close(found, expected, rtol=close, atol=close)
        torch.testing.assert_close(mine, its, rtol=close, atol=close)
        for x, y, before, other in zip(mine, its, *versions):
            if before is not None and (x._version > before) != (y._version > other):
                raise AssertionError(f"versions {before} to {x._version} where eager has {other} to {y._version}")
    return 0.0, 0.0, ""


def _normal(*shape, device, seed=0):
    generator = torch.Generator(device).manual_seed(seed)
    return torch.randn(shape, device=device, generator=generator)


def _step(x, m, g):
    m.mul_(0.9).add_(g)
    x.sub_(m * 0.1 / (m.abs().mean(-1, keepdim=True) + 1))
    return (x * 2).sum(-1)


def staying(device, mode):
    def make():
        inputs = [_normal(300, 130, device=device, seed=seed) for seed in range(3)]
        return lambda number: inputs

    return _same(_step, make, device, mode)


def moving(device, mode):
    """Elsewhere in every call, or in every second."""
    def make():
        kept = []

        def inputs(number):
            kept.append([_normal(300, 130, device=device, seed=3 * number + seed) for seed in range(3)])
            return kept[number // 2]

        return inputs

    return _same(_step, make, device, mode)


def at_odd_addresses(device, mode):
    def make():
        memory = [_normal(300 * 130 + 8, device=device, seed=seed) for seed in range(3)]
        return lambda number: [each[1 + number % 3:][:300 * 130].view(300, 130) for each in memory]

    return _same(_step, make, device, mode)


def of_other_strides(device, mode):
    def make():
        inputs = [_normal(130, 300, device=device, seed=seed).t() for seed in range(3)]
        return lambda number: inputs if number % 3 else [x[:, ::1] for x in inputs]

    return _same(_step, make, device, mode)


def of_inference(device, mode):
    """Outside of inference mode PyTorch refuses to change them: eager notices it when the first one has changed."""
    with torch.inference_mode():
        inputs = [_normal(33, 65, device=device, seed=seed) for seed in range(3)]
        before = [x.clone() for x in inputs]
    faster = compiled(_step, mode=mode)
    for _ in range(4):
        try:
            faster(*inputs)
        except RuntimeError as error:
            if "inference tensor" not in str(error):
                raise
        else:
            raise AssertionError("an inference tensor was changed")
        torch.testing.assert_close(inputs[::2], before[::2])
    with torch.inference_mode():
        return _same(_step, lambda: lambda number, kept=[x.clone() for x in before]: kept, device, mode)


def swapped(device, mode):
    def swap(x, y):
        x_then = x.clone()
        x.copy_(y + 1)
        y.copy_(x_then)
        return x - y

    def make():
        inputs = [_normal(77, 9, device=device, seed=seed) for seed in range(2)]
        return lambda number: inputs

    return _same(swap, make, device, mode)


def cache(device, mode):
    """Of keys and values, one position after the other."""
    def decode(keys, values, q, place):
        keys.index_copy_(2, place, q)
        values.index_copy_(2, place, q * 2)
        return F.scaled_dot_product_attention(q, keys, values).square()

    def make():
        keys, values = (torch.zeros(2, 4, 32, 64, device=device) for _ in range(2))
        return lambda number: [
            keys, values, _normal(2, 4, 1, 64, device=device, seed=number), torch.tensor([number], device=device)]

    return _same(decode, make, device, mode, close=1e-3)


def places(device, mode):
    def put(table, indices, x):
        table[indices] = x
        table[0].add_(1)
        return table.sum()

    def make():
        table = torch.zeros(100, 16, device=device)
        return lambda number: [
            table, torch.tensor([number, 2 * number + 1], device=device), _normal(2, 16, device=device, seed=number)]

    return _same(put, make, device, mode, close=1e-4)


def statistics(device, mode):
    """Of batch norms, in training."""
    def losses(wrap):
        torch.manual_seed(3)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 3),
            torch.nn.BatchNorm2d(8)).to(device)
        run, found = wrap(model), []
        for number in range(CALLS):
            model.zero_grad(set_to_none=True)
            run(_normal(4, 3, 18, 18, device=device, seed=number) * 3 + 1).square().mean().backward()
            found += [buffer.clone() for buffer in model.buffers()] + [p.grad.clone() for p in model.parameters()]
            if number == 5:
                model[1].running_mean.zero_()
        return found

    expected, found = losses(lambda model: model), losses(lambda model: compiled(model, mode=mode))
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3)
    return 0.0, 0.0, ""


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-2),
    "AdamW foreach": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=True),
    "AdamW one by one": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=False, amsgrad=True),
    "Adam capturable": lambda p: torch.optim.Adam(p, lr=torch.tensor(1e-2, device=p[0].device), capturable=p[0].is_cuda),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=1e-2, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2),
}


def optimizers(device, mode):
    """Their steps, with gradients that stay, move and are missing."""
    for name, make in OPTIMIZERS.items():
        if device.type == "cpu" and "foreach" in name:
            continue  # PyTorch's own trace of it fails there.
        found = []
        for wrap in (lambda function: compiled(function, mode=mode), lambda function: function):
            params = [
                torch.nn.Parameter(_normal(*shape, device=device, seed=len(shape)))
                for shape in ((64, 32), (7,), (3, 5, 9), (), (4096, 3))]
            optimizer = make(params)
            step = wrap(optimizer.step)
            for number in range(CALLS):
                for place, p in enumerate(params):
                    gradient = _normal(*p.shape, device=device, seed=100 * number + place)
                    if p.grad is None or number % 3 == 0:
                        p.grad = gradient
                    else:
                        p.grad.copy_(gradient)
                step()
            found.append([p.detach().clone() for p in params] + [
                x.to("cpu", torch.float64) for state in optimizer.state.values() for x in state.values()
                if isinstance(x, torch.Tensor)])
        try:
            torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
    return 0.0, 0.0, ""


def twice(device, mode):
    """An input given twice, or that shows a part of another one."""
    def both(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    def make():
        memory = _normal(64, 64, device=device)
        other = _normal(64, 64, device=device, seed=1)
        return lambda number: [(memory, other), (memory, memory), (memory, memory.t())][number % 3]

    return _same(both, make, device, mode)


UPDATES = {function.__name__: function for function in (
    staying, moving, at_odd_addresses, of_other_strides, of_inference, swapped, cache, places, statistics, optimizers, twice)}
