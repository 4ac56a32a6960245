"""What test_warm.py compiles: each case gives [(function, arguments, keywords)], made anew at every call."""

import dataclasses

import torch

from job import build, output_of

OPTIONS = {}  # Case -> further arguments of torch.compile.


def _model(name):
    model, example = build(name, 0, 64, 2)
    model.eval()
    return [(model, (example,), {})]


def mlp():
    return _model("mlp")


def gpt2():
    return _model("gpt2")


def bert():
    return _model("bert")


def llama():
    return _model("llama")


def llama_with_cache():
    """As it is by default: it gives what the next token is computed from, too."""
    (model, arguments, keywords), = _model("llama")
    return [(model, arguments, {**keywords, "use_cache": True})]


def gpt2_with_cache():
    (model, arguments, keywords), = _model("gpt2")
    return [(model, arguments, {**keywords, "use_cache": True})]


def resnet():
    return _model("resnet")


def vit():
    return _model("vit")


def _images():
    torch.manual_seed(1)
    return torch.randn(2, 3, 8, 8)


class Blend(torch.nn.Module):
    def __init__(self, width=16, act="gelu"):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, width)
        self.second = torch.nn.Linear(width, 8)
        self.act = act

    def forward(self, x, scale=1.0, *, shift=None, flags=()):
        x = self.first(x)
        x = torch.nn.functional.gelu(x) if self.act == "gelu" else torch.relu(x)
        x = self.second(x) * scale
        if shift is not None:
            x = x + shift["value"] * len(flags)
        return x


def _rows(seed=2, size=4):
    torch.manual_seed(seed)
    return torch.randn(size, 8)


def keywords():
    return [(Blend().eval(), (_rows(),), {
        "scale": 2.0, "shift": {"value": _rows(3)}, "flags": ("a", "b")})]


def two_configurations():
    return [
        (Blend().eval(), (_rows(),), {}), (Blend(24, "relu").eval(), (_rows(),), {})]


def _first(x):
    return torch.softmax(x, -1) * 2


def _second(x):
    return torch.cumsum(x, 0) - 1


def two_functions():
    return [(_first, (_rows(),), {}), (_second, (_rows(),), {})]


class _Layers(torch.nn.Module):
    """Dynamo goes through its own version of zip() and enumerate()."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x)) + x
        for number, (layer, factor) in enumerate(zip(self.layers, (2.0, 3.0))):
            x = layer(x) * factor + number
        return x


def layers_in_a_loop():
    return [(_Layers().eval(), (torch.linspace(-1, 1, 64).reshape(4, 16),), {})]


def batch_norm_training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    model.train()
    state = dict(model.named_buffers())
    return [(lambda x: (model(x), *[value + 0 for value in state.values()]), (_images(),), {})]


class Normalized(torch.nn.Module):
    """Gives its buffers too, so that changes in place show."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm = torch.nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(x)


def buffers():
    model = Normalized().train()
    return [
        (model, (_images(),), {}), (model, (_images() * 2,), {}),
        (lambda: [value.clone() for value in model.buffers()], (), {})]


def _in_place(x, y):
    x.mul_(2)
    y[1] = x[0] + 1
    return x + y


def inputs_in_place():
    return [(_in_place, (_rows(), _rows(7)), {})]


def _aliases(x, y):
    z = x + y
    return x, x[1:], z.t(), z, z[0], y.view(2, -1)


def aliased_outputs():
    return [(_aliases, (_rows(), _rows(7)), {})]


@dataclasses.dataclass
class Inner:
    value: torch.Tensor
    name: str


@dataclasses.dataclass
class Outer:
    first: Inner
    others: dict
    none: object = None


def _structured(x):
    return Outer(Inner(x + 1, "one"), {"two": [x * 2, (x * 3, 7)]})


def structured_outputs():
    return [(_structured, (_rows(),), {})]


def _broken(x, factor):
    x = torch.sin(x) * factor
    torch._dynamo.graph_break()
    y = torch.cos(x) + factor
    torch._dynamo.graph_break()
    return x @ y.t()


def graph_breaks():
    return [(_broken, (_rows(), 2.0), {})]


def _leaf(x):
    torch._dynamo.graph_break()
    return torch.tanh(x)


def _nested(x):
    return _leaf(x * 2) + _leaf(x)


def nested_graph_breaks():
    return [(_nested, (_rows(),), {})]


SCALE = 1.5


def _function_behind_a_break(x):
    y = torch.sin(x)
    torch._dynamo.graph_break()

    def scaled(z):
        return z * SCALE + y

    return sum(scaled(each) for each in (x, y))


def function_behind_a_break():
    """Dynamo's code makes it, of the globals that it keeps as a constant."""
    return [(_function_behind_a_break, (_rows(),), {})]


def _normalize(x):
    """One graph for up to twelve rows, another one for more."""
    if x.shape[0] > 12:
        return torch.softmax(x, 0)
    y = (x - x.mean(0)) / (x.std(0) + 1e-3)
    return y.view(2 * x.shape[0], -1), y[1:].t(), x.shape[0] + 1


def _dynamic(size):
    x = _rows(size=size)
    torch._dynamo.mark_dynamic(x, 0)
    return [(_normalize, (x,), {})]


def _halves(x, y):
    """Needs an even number of rows, as many in both."""
    x.add_(1)
    return (x + y).view(-1, 2, 8).sum(1), x @ y.t()


def _all_dynamic(size):
    return [(_halves, (_rows(size=size), _rows(3, size)), {})]


def mode():
    return [(_first, (_rows(),), {})]


OPTIONS["mode"] = {"mode": "max-autotune"}


def whole_graph():
    return [(_structured, (_rows(),), {})]


OPTIONS["whole_graph"] = {"fullgraph": True}

def _sum(rows):
    total = rows[0] * 2
    for row in rows[1:]:
        total = total + torch.sin(row)
    return total


def __getattr__(name):
    """NAME_of_N: the case NAME with the number N."""
    stem, _, number = name.rpartition("_of_")
    if stem not in _NUMBERED:
        raise AttributeError(name)
    return lambda: _NUMBERED[stem](int(number))


_NUMBERED = {
    # A capture key of its own for each number.
    "sum": lambda count: [(_sum, (tuple(_rows(seed) for seed in range(count)),), {})],
    "dynamic": _dynamic, "all_dynamic": _all_dynamic}
OPTIONS |= {f"all_dynamic_of_{size}": {"dynamic": True} for size in (4, 6, 8, 10)}

MODELS = ("mlp", "gpt2", "bert", "resnet")

__all__ = ["MODELS", "OPTIONS", "output_of"]
