"""Masks of attention on their way into a trace for GPUs."""

import contextlib

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from stoker.pytorch import aot
from stoker.pytorch.attention_masks import WithoutFullMasks, without_full_ones


class Seen(TorchFunctionMode):
    """The masks that attention is called with."""

    def __init__(self):
        super().__init__()
        self.masks = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            self.masks.append((kwargs or {}).get("attn_mask", args[3] if len(args) > 3 else None))
        return func(*args, **(kwargs or {}))


def of_places(q):
    return (torch.arange(5, device=q.device)[:, None] >= 0).expand(2, 1, 5, 5)


def some_left_out(q):
    return (torch.arange(5, device=q.device)[:, None] >= 1).expand(2, 1, 5, 5)


def of_numbers(q):
    return (q[:1, :1, :, :1] < 100).expand(2, 3, 5, 5)


def of_both(q):
    return (torch.ones(5, 1, dtype=torch.bool, device=q.device) & (q[0, 0, :, :1] < 100)).expand(2, 3, 5, 5)


def written_to(q):
    mask = torch.ones(5, 1, dtype=torch.bool, device=q.device)
    mask[2] = False
    return mask.expand(2, 3, 5, 5)


def a_view_written_to(q):
    mask = torch.ones(5, 1, dtype=torch.bool, device=q.device)
    seen = mask.expand(2, 3, 5, 5)
    mask.logical_and_(q[0, 0, :, :1] < 100)
    return seen


def read_as_it_lies(q):
    return torch.ones(5, 5, dtype=torch.bool, device=q.device).expand(2, 3, 5, 5)


def masks_seen(make, device="cuda", dtype=torch.bfloat16, gradients=False, by_place=False):
    """What attention is called with below the mode."""
    with FakeTensorMode(allow_non_fake_inputs=True), torch.set_grad_enabled(gradients):
        q = torch.empty(2, 3, 5, 8, device=device, dtype=dtype, requires_grad=gradients)
        with Seen() as seen, WithoutFullMasks():
            mask = make(q)
            if by_place:
                result = F.scaled_dot_product_attention(q, q, q, mask, 0.0)
            else:
                result = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert result.shape == q.shape
    return [given is not None for given in seen.masks], result


@pytest.mark.parametrize("by_place", [False, True])
def test_mask_that_keeps_everything_is_none(by_place):
    seen, result = masks_seen(of_places, by_place=by_place)
    assert seen == [False] and result.is_contiguous()


@pytest.mark.parametrize(
    "make", [some_left_out, of_numbers, of_both, written_to, a_view_written_to, read_as_it_lies], ids=lambda make: make.__name__)
def test_every_other_mask_stays(make):
    assert masks_seen(make)[0] == [True]


@pytest.mark.parametrize("change", [{"device": "cpu"}, {"dtype": torch.float32}, {"gradients": True}], ids=str)
def test_where_fused_kernels_differ_masks_stay(change):
    assert masks_seen(of_places, **change)[0] == [True]


def of_a_shape(q):
    """With torch.Size among the arguments."""
    return (torch.zeros(5, 1, device=q.device) < 1).expand(torch.Size((2, 1, 5, 5)))


def test_sizes_are_arguments_like_others():
    assert masks_seen(of_a_shape)[0] == [False]
    assert masks_seen(lambda q: (q[:1, :1, :, :1] < 1).expand(q.shape[:3] + q.shape[2:3]), gradients=True)[0] == [True]


def everywhere(batch, queries, keys):
    return (torch.arange(queries, device="cuda")[None, None, :, None] >= 0).expand(batch, -1, queries, keys)


def of_ones(batch, queries, keys):
    kept = torch.ones(batch, 1, 1, 1, dtype=torch.bool, device="cuda") & everywhere(1, queries, 1)
    return (~(torch.zeros(queries, 1, dtype=torch.bool, device="cuda") | ~kept)).expand(batch, 1, queries, keys)


def behind_some(batch, queries, keys):
    return (torch.arange(3, queries, device="cuda")[:, None] - 3 >= 0).expand(batch, 1, queries - 3, keys)


def all_but_one(batch, queries, keys):
    return (torch.arange(queries, device="cuda")[:, None] > 0).expand(batch, 1, queries, keys)


def up_to_a_place(batch, queries, keys):
    return (torch.arange(queries, device="cuda")[:, None] < 4096).expand(batch, 1, queries, keys)


def up_to_a_size(batch, queries, keys):
    return (torch.arange(queries, device="cuda")[:, None] < keys).expand(batch, 1, queries, keys)


def backwards(batch, queries, keys):
    return (torch.arange(queries, -1, -1, device="cuda")[1:, None] >= 0).expand(batch, 1, queries, keys)


def as_bytes(batch, queries, keys):
    return (torch.arange(queries, device="cuda")[:, None].view(torch.float64) >= 0).expand(batch, 1, queries, keys)


# Made, of which lengths it keeps everything.
OF_SIZES = [
    (everywhere, "any"), (of_ones, "any"), (behind_some, "any"), (all_but_one, "none"), (up_to_a_place, "this"), (up_to_a_size, "this"),
    (backwards, "this"), (as_bytes, "this")]


@pytest.mark.parametrize("make, lengths", OF_SIZES, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("varying", [(0,), (2,), (0, 2)], ids=str)
def test_sizes_may_vary(make, lengths, varying):
    """What holds whatever they are, and nothing else."""
    contexts = [DimDynamic.DYNAMIC if dim in varying else DimDynamic.STATIC for dim in range(4)]
    real = torch.empty(4, 3, 9, 8)
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()) as mode, torch.no_grad():
        like = mode.from_tensor(real, symbolic_context=StatelessSymbolicContext(dynamic_sizes=contexts))
        queries = like.shape[2] - (3 if make is behind_some else 0)
        q = torch.empty(like.shape[0], 3, queries, 8, device="cuda", dtype=torch.bfloat16)
        k = torch.empty(like.shape[0], 3, like.shape[2], 8, device="cuda", dtype=torch.bfloat16)
        with Seen() as seen, WithoutFullMasks():
            mask = make(like.shape[0], like.shape[2], like.shape[2])
            F.scaled_dot_product_attention(q, k, k, attn_mask=mask)
    is_none = lengths == "any" or (lengths == "this" and 2 not in varying)
    assert [given is None for given in seen.masks] == [is_none]


class Called(torch.nn.Module):
    def forward(self, q):
        return (F.scaled_dot_product_attention(q, q, q, attn_mask=of_places(q)),)


class Training(torch.nn.Module):
    def forward(self, q):
        return (F.scaled_dot_product_attention(q + 1, q, q, is_causal=True).sum(),)


def keep(joint, _=None):
    pass


def test_steps_are_traced_too():
    with FakeTensorMode(allow_non_fake_inputs=True):
        q = torch.empty(2, 3, 5, 8, device="cpu", requires_grad=True)
        traced = []
        aot.functional(torch.fx.symbolic_trace(Training()), [q], *[lambda gm, _: traced.append(gm) or gm.forward] * 3, keep)
    assert traced


def test_graphs_are_traced_so():
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        q = torch.empty(2, 3, 5, 8, device="cuda", dtype=torch.bfloat16)
        gm = torch.fx.symbolic_trace(Called())
        with Seen() as seen:
            aot.functional(gm, [q], *[lambda gm, _: gm.forward] * 3, keep)
    assert seen.masks and all(mask is None for mask in seen.masks)


@pytest.mark.parametrize("device, function, kind", [
    ("cuda", F.scaled_dot_product_attention, WithoutFullMasks), ("cpu", F.scaled_dot_product_attention, contextlib.nullcontext),
    ("cuda", torch.add, contextlib.nullcontext)])
def test_operators_are_told_of_where_a_graph_on_a_gpu_has_attention(device, function, kind):
    graph = torch.fx.Graph()
    q = graph.placeholder("q")
    graph.output(graph.call_function(function, (q, q) if function is torch.add else (q, q, q)))
    with FakeTensorMode():
        inputs = [7, [torch.empty(2, 3, 5, 8, device=device)]]
    assert type(without_full_ones(torch.fx.GraphModule({}, graph), inputs)) is kind
