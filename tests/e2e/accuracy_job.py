"""Prints how far products are off in float32, in units of its spacing times the sum of their terms' magnitudes, as
[case, eager, compiled]: inputs with an outlier channel, and a gated MLP with a massive unit."""

import json

import torch

ROWS = (1, 4, 15, 16, 55, 56, 128)
SCALES = (1e3, 1e4, 1e6, 1e8)
SIZE, HIDDEN, OUTLIER = 768, 512, 5
DRAWS = 4  # Of which the largest errors are compared: those of few elements vary.
SPACING = 2.0 ** -23


def linear(inputs, weight):
    return [torch.nn.functional.linear(x, weight) for x in inputs]


def gated_mlp(inputs, gate, up, down):
    return [(torch.nn.functional.silu(x @ gate.T) * (x @ up.T)) @ down.T for x in inputs]


def linear_magnitude(x, weight):
    return x @ weight.T


def mlp_magnitude(x, gate, up, down):
    return ((x @ gate.T) * (x @ up.T)) @ down.T


def drawn_inputs():
    return [torch.randn(rows, SIZE) for rows in ROWS]


def outlier_arguments(scale, is_zero):
    inputs, weight = drawn_inputs(), torch.randn(HIDDEN, SIZE)
    for x in inputs:
        x[:, OUTLIER] *= scale
    if is_zero:
        weight[:, OUTLIER] = 0
    return inputs, weight


def mlp_arguments():
    gate, up = torch.randn(HIDDEN, SIZE) / SIZE ** 0.5, torch.randn(HIDDEN, SIZE) / SIZE ** 0.5
    up[OUTLIER] *= 1e4
    return drawn_inputs(), gate, up, torch.randn(SIZE, HIDDEN)


def compare(name, eager, compiled, magnitude, draw):
    """The largest errors of all draws, for each number of rows."""
    errors = [[f"{name}, {rows} rows", 0.0, 0.0] for rows in ROWS]
    for _ in range(DRAWS):
        inputs, *weights = draw()
        wide = [weight.double() for weight in weights]
        exact = eager([x.double() for x in inputs], *wide)
        for side, function in ((1, eager), (2, compiled)):
            for row, x, want, got in zip(errors, inputs, exact, function(inputs, *weights)):
                by = magnitude(x.double().abs(), *(weight.abs() for weight in wide))
                row[side] = max(row[side], float(((got - want).abs() / by).max() / SPACING))
    return errors


def main():
    torch.manual_seed(0)
    compiled = torch.compile(linear, backend="stoker")
    errors = []
    for scale in SCALES:
        for is_zero in (True, False):
            name = f"Linear, channel of {scale:g}, {'zero' if is_zero else 'other'} weights"
            errors += compare(
                name, linear, compiled, linear_magnitude, lambda: outlier_arguments(scale, is_zero))
    errors += compare(
        "gated MLP", gated_mlp, torch.compile(gated_mlp, backend="stoker"), mlp_magnitude, mlp_arguments)
    print(json.dumps(errors))


main()
