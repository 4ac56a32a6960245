"""What a call gave, or raised: told apart by value, type, dtype and shape."""

import torch

# Of the largest element: what compiled arithmetic may differ by.
TOLERANCE = 2e-5
_MAX_TEXT = 300
# while_loop and its like compile in eager, too. Where PyTorch's own compiler breaks down there, eager has no answer.
COMPILER_FAILED = "raises", "InternalTorchDynamoError"


def of(call):
    """("value", what the call gives) or ("raises", the exception's type)."""
    try:
        return "value", _kept(call())
    except Exception as error:
        return "raises", type(error).__name__


def _kept(value):
    """Plain data: what the program's own classes give is read as what they hold."""
    if isinstance(value, torch.Tensor):
        return value.detach().as_subclass(torch.Tensor).clone()
    if isinstance(value, dict):
        return {"dict": [(_kept(key), _kept(item)) for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(_kept, value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return type(value).__qualname__


def difference(expected, found):
    """Text, or None."""
    if expected[0] != found[0]:
        return f"{text(expected)} in eager, {text(found)} compiled"
    if expected[0] == "raises":
        return None if expected == found else f"{text(expected)} in eager, {text(found)} compiled"
    return _first(expected[1], found[1])


def _first(expected, found):
    if type(expected) is not type(found):
        return f"{expected!r} in eager, {found!r} compiled"[:_MAX_TEXT]
    if isinstance(expected, torch.Tensor):
        return _of_tensors(expected, found)
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(found):
            return f"{expected!r} in eager, {found!r} compiled"[:_MAX_TEXT]
        return next(filter(None, map(_first, expected, found)), None)
    if isinstance(expected, dict):
        return _first(expected["dict"], found["dict"])
    if isinstance(expected, float):
        return _of_tensors(torch.tensor(expected), torch.tensor(found))
    return None if expected == found else f"{expected!r} in eager, {found!r} compiled"[:_MAX_TEXT]


def _of_tensors(expected, found):
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"{expected.dtype} {list(expected.shape)} in eager, {found.dtype} {list(found.shape)} compiled"
    if not expected.numel():
        return None
    if not (expected.is_floating_point() or expected.is_complex()):
        return None if torch.equal(expected, found) else _values(expected, found)
    wide = torch.complex128 if expected.is_complex() else torch.float64
    expected, found = expected.to(wide), found.to(wide)
    scale = expected[expected.isfinite()].abs().max().item() if expected.isfinite().any() else 1.0
    close = torch.isclose(expected, found, rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True)
    return None if close.all() else _values(expected, found)


def _values(expected, found):
    return f"{_elements(expected)} in eager, {_elements(found)} compiled"


def _elements(tensor):
    return [float(f"{value:.6g}") if isinstance(value, float) else value for value in tensor.flatten()[:6].tolist()]


def text(result):
    if result[0] == "value" and isinstance(result[1], torch.Tensor):
        return f"{result[1].dtype} {list(result[1].shape)} {_elements(result[1])}"
    return f"{result[0]} {result[1]!r}"[:_MAX_TEXT]


def save(result, path):
    torch.save(result, path)


def load(path):
    return torch.load(path)
