"""Optimizers that are loaded again and again, and optimizers that die while a frame of theirs runs. Prints what each step gave, and how many
names and finalizers there were after each fifth of the loads."""

import copy
import gc
import json
import warnings
import weakref

import torch
import torch.optim.adam as module

import stoker

LOADS = 40
STEP = None  # Without what PyTorch wraps it in: no break comes before it.


def parameters():
    return [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]


def give_gradients(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones_like(parameter)


def loaded():
    """[(names of the module's, finalizers)]"""
    optimizer = torch.optim.Adam(parameters(), lr=0.1)
    initial = copy.deepcopy(optimizer.state_dict())
    step = torch.compile(optimizer.step, backend="stoker")
    counted = []
    for number in range(LOADS):
        give_gradients(optimizer)
        step()
        step()
        optimizer.load_state_dict(initial)
        if number % 5 == 4:
            gc.collect()
            counted.append([len(vars(module)), len(weakref.finalize._registry)])
    return counted


class Holder:
    def __init__(self):
        self.value = torch.ones(3)
        self.parameters = parameters()
        self.optimizer = torch.optim.Adam(self.parameters, lr=0.1)
        give_gradients(self.optimizer)


@torch.compile(backend="stoker")
def let_go(holder):
    STEP(holder.optimizer)
    holder.optimizer = None
    torch._dynamo.graph_break()
    return holder.value * 2


@torch.compiler.disable
def drop(holder):
    holder.optimizer = None
    gc.collect()


@torch.compile(backend="stoker")
def drop_within(holder):
    STEP(holder.optimizer)
    drop(holder)
    return holder.value * 2


def dying(function):
    results = []
    for _ in range(3):
        holder = Holder()
        results.append(function(holder).tolist() + holder.parameters[1].tolist())
    return results


def coming_twice():
    """Of a parameter that is in the optimizer twice, which PyTorch only warns of: it steps twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = parameters()
        optimizer = torch.optim.SGD([first, second, first], lr=0.25)
    give_gradients(optimizer)
    torch.compile(optimizer.step, backend="stoker")()
    return first.tolist() + second.tolist()


def main():
    global STEP
    torch.optim.Adam(parameters())  # PyTorch wraps a class's step when the first one is made.
    STEP = torch.optim.Adam.step.__wrapped__
    print(json.dumps({
        "twice": coming_twice(), "loaded": loaded(), "let_go": dying(let_go), "dropped": dying(drop_within), "counters": stoker.counters()}))


main()
