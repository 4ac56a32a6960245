"""Models of transformers, traced for a GPU without one: attention is a kernel, or one call with a mask, and nothing else is a
call."""

import importlib.util

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from stoker.lowering import targets
from stoker.lowering.joint import less
from stoker.lowering.lower import lower, lower_for_all
from stoker.pytorch import aot
from stoker.pytorch.operators import named_argument
from test_cuda_lowering import operators_of, texts_of
from test_lowering import calls_of

pytestmark = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not here")
LAYERS = 2
_attention = F.scaled_dot_product_attention


class AsOnHopper(TorchFunctionMode):
    """PyTorch's choice for 16-bit types there, which this PyTorch may be built without: cuDNN where the mask has neighbours along
    the keys, else its own products."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return (_chosen if func is _attention else func)(*args, **(kwargs or {}))


def _chosen(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if attn_mask is not None and attn_mask.stride(-1) != 1:
        return _attention(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if attn_mask is not None:
        attn_mask = torch.where(attn_mask, 0.0, -65504.0) if attn_mask.dtype == torch.bool else attn_mask
        attn_mask = attn_mask.to(q.dtype).expand(*q.shape[:3], k.shape[2])
    return torch.ops.aten._scaled_dot_product_cudnn_attention(
        q, k, v, attn_mask, False, dropout_p, is_causal, scale=scale)[0]


class Traced(Exception):
    """Nothing runs."""


def traced(make, *inputs, varying=()):
    """The functional graph of the model on those of the inputs that are given. `varying`: which of their dims may be of any
    size."""
    with torch.no_grad():
        graph, = graphs_of(make, inputs, varying)
    return graph


def graphs_of(make, inputs, varying, device="cuda"):
    """Where gradients are asked for, forward and, with sizes that vary, backward: autograd wants a GPU for one's."""
    graphs = []

    def keep(gm, _):
        graphs.append(gm)
        return gm.forward

    def backend(gm, given):
        with AsOnHopper():
            aot.functional(gm, given, forward=keep, backward=keep, inference=keep, change_joint=less.with_less_to_keep)
        raise Traced

    torch._dynamo.reset()
    default = torch.get_default_dtype()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = make().eval()
        finally:
            torch.set_default_dtype(default)
        given = [torch.empty_like(x, device=device) for x in inputs]
        for x in given:
            torch._dynamo.maybe_mark_dynamic(x, list(varying))
        with pytest.raises(Exception, match="Traced"):
            torch.compile(model, backend=backend)(*given)
    return graphs


def bert():
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(
        vocab_size=100, hidden_size=64, intermediate_size=128, num_attention_heads=2, num_hidden_layers=LAYERS,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(
        vocab_size=101, n_embd=64, n_head=2, n_layer=LAYERS, use_cache=False,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


@pytest.mark.parametrize("make, products, causal", [(bert, 6 * LAYERS + 1, False), (gpt2, 4 * LAYERS + 1, True)])
def test_attention_is_a_kernel_without_a_mask(make, products, causal):
    program = lower(traced(make, torch.zeros(2, 16, dtype=torch.int64)), ())
    assert operators_of(program) == ([], []) and not program.fallbacks
    text, = texts_of(program)
    assert text.count(" attention(") == text.count(f"causal={str(causal).lower()}") == LAYERS
    assert text.count(" dot_general(") == products
    assert " exponential(" not in text  # No softmax of scores.


def for_all_sizes(graph):
    """The program that serves them, made for those of the trace."""
    def told(size):
        return size.node.hint if isinstance(size, torch.SymInt) else size

    given = [node.meta["val"] for node in graph.graph.find_nodes(op="placeholder")]
    with FakeTensorMode():
        arguments = [
            torch.empty(list(map(told, x.shape)), dtype=x.dtype, device="cuda") if isinstance(x, torch.Tensor) else told(x)
            for x in given]
    return lower_for_all(graph, (), arguments)


def test_a_batch_of_any_size_has_no_mask():
    program = for_all_sizes(traced(bert, torch.zeros(4, 16, dtype=torch.int64), varying=[0]))
    text, = texts_of(program)
    assert program.symbols and not program.fallbacks
    assert text.count(" attention(") == LAYERS and " exponential(" not in text


def test_a_batch_of_any_size_is_causal():
    program = for_all_sizes(traced(gpt2, torch.zeros(4, 16, dtype=torch.int64), varying=[0]))
    text, = texts_of(program)
    assert operators_of(program) == ([], []) and program.symbols and not program.fallbacks
    assert text.count(" attention(") == text.count("causal=true") == LAYERS
    assert " cumulative(" not in text and " exponential(" not in text


@pytest.mark.parametrize("make, causal", [(bert, False), (gpt2, True)])
def test_sequences_of_any_length_are_calls_without_a_mask(make, causal):
    program = for_all_sizes(traced(make, torch.zeros(4, 16, dtype=torch.int64), varying=[0, 1]))
    assert program.symbols and not program.fallbacks
    inside, _ = operators_of(program)
    assert inside == ["aten._scaled_dot_product_cudnn_attention.default"] * LAYERS
    for call in calls_of(program):
        assert call.arguments[3] is None and call.keywords.get("is_causal", False) == causal
        assert None not in call.orders  # Queries, keys and values are read where their products have them.


def test_queries_keys_and_values_are_one_product():
    program = lower(traced(bert, torch.zeros(4, 16, dtype=torch.int64)), ())
    text, = texts_of(program)
    assert text.count(" dot_general(") == 4 * LAYERS + 1
    for first in (64, 128):
        assert text.count(f"start=[0,{first}]") == LAYERS


def test_padding_is_a_mask_that_fused_kernels_read():
    program = lower(traced(bert, torch.zeros(2, 16, dtype=torch.int64), torch.ones(2, 16, dtype=torch.int64)), ())
    inside, _ = operators_of(program)
    assert set(inside) == {"aten._scaled_dot_product_cudnn_attention.default"}
    assert all(call.arguments[3] is not None for call in calls_of(program))


@pytest.mark.parametrize("make, causal", [(bert, False), (gpt2, True)])
def test_training_by_sequences_of_any_length_has_no_masks(monkeypatch, make, causal):
    """The backward is given none that the forward would have to keep."""
    monkeypatch.setattr(targets, "device_of", lambda gm: torch.device("cuda"))
    monkeypatch.setattr(less, "device_of", lambda gm: torch.device("cuda"))
    forward, backward = graphs_of(make, [torch.zeros(4, 16, dtype=torch.int64)], [0, 1], "cpu")
    for graph, suffix in ((forward, ""), (backward, "_backward")):
        operator = getattr(torch.ops.aten, f"_scaled_dot_product_cudnn_attention{suffix}").default
        found = graph.graph.find_nodes(op="call_function", target=operator)
        if not found and torch.__version__ < "2.12":
            pytest.skip("without a GPU, this PyTorch has another operator for such a mask")
        assert len(found) == LAYERS
        for node in found:
            assert named_argument(node, "attn_bias") is None and named_argument(node, "is_causal") == causal
