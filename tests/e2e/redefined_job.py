"""stoker.compile between whose calls the function or the module becomes another one: prints one JSON line.

usage: redefined_job.py
"""

import copy
import io
import json

import torch
from torch import nn

import stoker

x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


def scaled(x, k=2.0):
    return (x * k).relu() + 1


def otherwise(x, k=2.0):
    return (x * k).relu() - 5


def keyword(x, *, k=2.0):
    return (x * k).relu() + 1


def shifted(x):
    return x + 3


def calls_another(x):
    return shifted(x).relu()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.scale = 1.0

    def forward(self, x):
        return self.fc(x).relu() * self.scale


class Called(Net):
    def __call__(self, x):
        return super().__call__(x) * 5


def plain(function):
    return function(x)


def new_defaults(_):
    scaled.__defaults__ = (7.0,)


def new_keyword_defaults(_):
    keyword.__kwdefaults__ = {"k": 7.0}


def changed_keyword_defaults(_):
    keyword.__kwdefaults__["k"] = 9.0


def new_code(_):
    scaled.__code__ = otherwise.__code__


def new_code_of_the_other(_):
    shifted.__code__ = (lambda x: x - 3).__code__


def new_forward(_):
    Net.forward = lambda self, x: self.fc(x) - 3


def old_forward(_, forward=Net.forward):
    Net.forward = forward


def attribute(module):
    module.scale = 10.0


def child(module):
    torch.manual_seed(5)
    module.fc = nn.Linear(8, 8)


def training(module):
    module.training = False


def no_change(_):
    pass


# (what makes it, what changes it)
CASES = [
    (lambda: scaled, new_defaults), (lambda: scaled, new_code),
    (lambda: calls_another, new_code_of_the_other), (lambda: keyword, new_keyword_defaults),
    (lambda: keyword, changed_keyword_defaults), (Net, attribute), (Net, child), (Net, training),
    (Net, new_forward), (Net, old_forward), (Called, no_change)]


def main():
    wrong = []
    with torch.no_grad():
        for make, change in CASES:
            torch.manual_seed(1)
            eager = make()
            compiled = stoker.compile(copy.deepcopy(eager))
            for stage in ("before", "after"):
                if not torch.allclose(compiled(x), eager(x), atol=1e-4):
                    wrong.append(f"{stage} {change.__name__}")
                if stage == "before":
                    change(eager)
                    if isinstance(eager, nn.Module):
                        change(compiled)
        net = Net()
        compiled = stoker.compile(net)
        compiled(x)
        if "fc" not in dir(compiled) or hasattr(compiled, "nothing"):
            wrong.append("dir")
        layers = stoker.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
        if len(layers) != 2 or not layers or stoker.compile(nn.ModuleList()) or not compiled:
            wrong.append("len")
        del compiled.scale
        if hasattr(net, "scale"):
            wrong.append("delete")
        net.scale = 1.0
        file = io.BytesIO()
        torch.save(compiled, file)
        file.seek(0)
        if not torch.allclose(torch.load(file, weights_only=False)(x), net(x), atol=1e-4):
            wrong.append("saved")
        try:
            torch.jit.trace(compiled, (x,), check_trace=False)
            wrong.append("jit.trace")
        except RuntimeError:
            pass
    print(json.dumps({"wrong": wrong, "counters": stoker.counters()}))


if __name__ == "__main__":
    main()
