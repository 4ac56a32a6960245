"""Indices out of bounds in a compiled function: in threads, in a backward, and between calls that are right.
Prints {"wrong": what went wrong, "counters": stoker.counters()}."""

import json
import threading

import torch
import torch.nn.functional as F

import stoker

TABLE = torch.arange(40.0).reshape(10, 4)
CALLS = 50


def look_up(indices, weight):
    return F.embedding(indices, TABLE) * weight


class Picked(torch.autograd.Function):
    """Reads at the indices in its backward only."""

    @staticmethod
    def forward(context, x, indices):
        context.save_for_backward(indices)
        return x * 2

    @staticmethod
    def backward(context, gradient):
        indices, = context.saved_tensors
        return gradient * TABLE[indices].sum(), None


def raised_by(function, *arguments):
    try:
        function(*arguments)
    except IndexError as error:
        return str(error)
    return None


def in_threads(compiled, wrong):
    """Every other thread asks for a row that there is not."""
    def work(place):
        row = place if place % 2 == 0 else 10 + place
        indices, weight = torch.tensor([row, 1]), torch.full((4,), float(place))
        for _ in range(CALLS):
            if place % 2 == 0:
                if not torch.equal(compiled(indices, weight), look_up(indices, weight)):
                    wrong.append(f"thread {place} got another result")
            elif f"index {row} is out of bounds for dimension 0 with size 10" not in str(
                    raised_by(compiled, indices, weight)):
                wrong.append(f"thread {place} did not raise for row {row}")

    threads = [threading.Thread(target=work, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_a_backward(wrong):
    compiled = torch.compile(lambda x, indices: Picked.apply(x, indices).sum(), backend="stoker")
    for row in (3, 12, -1, 4):
        x = torch.ones(3, requires_grad=True)
        loss = compiled(x, torch.tensor([row, 0]))
        error = raised_by(loss.backward)
        if row == 12:
            if "index 12 is out of bounds for dimension 0 with size 10" not in str(error):
                wrong.append(f"the backward raised {error}")
        elif error or not torch.equal(x.grad, torch.full((3,), TABLE[[row, 0]].sum().item())):
            wrong.append(f"the backward for row {row} raised {error} or gave {x.grad}")


def main():
    wrong = []
    compiled = torch.compile(look_up, backend="stoker")
    with torch.no_grad():
        first = raised_by(compiled, torch.tensor([99, 0]), torch.ones(4))
        if "index 99 is out of bounds for dimension 0 with size 10" not in str(first):
            wrong.append(f"the first call raised {first}")
        in_threads(compiled, wrong)
    in_a_backward(wrong)
    print(json.dumps({"wrong": wrong[:5], "counters": stoker.counters()}))


if __name__ == "__main__":
    main()
