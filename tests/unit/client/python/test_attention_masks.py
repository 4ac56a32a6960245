"""Masks of attention on their way into a trace for GPUs."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from stoker.pytorch import aot
from stoker.pytorch.attention_masks import dense

# A mask of two batches, three heads, four queries and five keys: how it lies; how many elements a copy has.
LAYOUTS = {
    "of queries": (lambda: torch.rand(1, 1, 4, 1).expand(2, 3, 4, 5), 20),
    "of one number": (lambda: torch.rand(1, 1, 1, 1).expand(2, 3, 4, 5), 5),
    "of batches": (lambda: torch.rand(2, 1, 1, 1).expand(2, 3, 4, 5), 10),
    "transposed": (lambda: torch.rand(2, 3, 5, 4).transpose(2, 3), 120),
    "of every second key": (lambda: torch.rand(2, 1, 4, 10)[..., ::2].expand(2, 3, 4, 5), 40),
    "of no queries": (lambda: torch.rand(2, 1, 1, 10)[..., ::2].expand(2, 3, 0, 5), 0)}


@pytest.mark.parametrize("name", LAYOUTS)
def test_copy_holds_what_is_distinct(name):
    make, elements = LAYOUTS[name]
    mask = make()
    copy = dense(mask)
    assert torch.equal(copy, mask) and copy.stride(-1) == 1
    assert copy.untyped_storage().nbytes() == 4 * elements


class Seen(TorchFunctionMode):
    """What attention is called with."""

    def __init__(self):
        super().__init__()
        self.strides = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            self.strides.append((kwargs or {}).get("attn_mask", args[3] if len(args) > 3 else None).stride())
        return func(*args, **(kwargs or {}))


CALLS = {
    "by name": lambda q, mask: F.scaled_dot_product_attention(q, q, q, attn_mask=mask, scale=0.5),
    "by place": lambda q, mask: F.scaled_dot_product_attention(q, q, q, mask, 0.0)}


class Called(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, q, mask):
        return (self.function(q, mask),)


def strides_seen(function, q, mask):
    """Of masks, while the function is traced."""
    gm = torch.fx.symbolic_trace(Called(function))
    with Seen() as seen:
        aot.functional(gm, [q, mask], *[lambda gm, _: gm.forward] * 3)
    return seen.strides


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("device, expected", [("cuda", (0, 0, 5, 1)), ("cpu", (0, 0, 1, 0))])
def test_masks_are_copied_on_gpus_alone(name, device, expected):
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        q = torch.empty(2, 3, 5, 8, device=device)
        mask = torch.empty(1, 1, 5, 1, dtype=torch.bool, device=device).expand(2, 3, 5, 5)
        seen = strides_seen(CALLS[name], q, mask)
    assert seen and set(seen) == {expected}


def test_masks_that_are_read_as_they_lie_are_no_copies():
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        q = torch.empty(2, 3, 5, 8, device="cuda")
        mask = torch.empty(1, 1, 1, 5, dtype=torch.bool, device="cuda").expand(2, 3, 5, 5)
        seen = strides_seen(CALLS["by name"], q, mask)
    assert seen and set(seen) == {mask.stride()}
