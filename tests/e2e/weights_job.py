"""Writes to a few elements of a large weight that PyTorch tells nobody about. Prints, for each, after how many calls the
compiled model gave eager's result again, as JSON."""

import json

import torch

import stoker

MAX_CALLS = 100_000
ROW = 1234


def write_through_data(weight):
    weight.data[ROW] = 2.0


def write_through_numpy(weight):
    weight.detach().numpy()[ROW, 5] = 3.0


def write_in_inference_mode(weight):
    with torch.inference_mode():
        weight[ROW, 7] = 4.0


def model_of(weight):
    model = torch.nn.Linear(*reversed(weight.shape), bias=False)
    model.weight = torch.nn.Parameter(weight, requires_grad=False)
    return model


def weight_of(rows, is_inference):
    torch.manual_seed(0)
    with torch.inference_mode(is_inference):
        return torch.randn(rows, 512)


def calls_until_right(compiled, model, inputs):
    expected = model(inputs)
    for calls in range(MAX_CALLS):
        if torch.allclose(compiled(inputs), expected, rtol=1e-5, atol=1e-4):
            return calls
    return None


def main():
    found = {}
    changes = (write_through_data, write_through_numpy, write_in_inference_mode)
    for rows, change in enumerate(changes, 2048):  # Others would replace the weights of one program.
        is_inference = change is write_in_inference_mode
        with torch.inference_mode(is_inference):
            model = model_of(weight_of(rows, is_inference))
            inputs = torch.randn(4, 512)
        compiled = torch.compile(model, backend="stoker")
        with torch.inference_mode(is_inference), torch.no_grad():
            before = calls_until_right(compiled, model, inputs)
            change(model.weight)
            found[change.__name__] = [before, calls_until_right(compiled, model, inputs)]
    print(json.dumps({"calls": found, "counters": stoker.counters()}))


main()
