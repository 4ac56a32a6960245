"""What eager PyTorch refuses by the types and sizes of its tensors raises the same under Stoker, though a rule could compute it."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from cases import aten
from stoker.base import tally
from stoker.pytorch import refusals
from stoker.runtime import first_calls
from test_backend import warnings  # noqa: F401: a fixture.

_FLOAT, _DOUBLE, _HALF, _BFLOAT16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
_INT, _LONG, _BYTE, _BOOL = torch.int32, torch.int64, torch.uint8, torch.bool


def _square(dtype, size=4):
    return (torch.arange(1, size * size + 1).reshape(size, size) % 7).to(dtype)


_PLACES = torch.tensor([0, 2, 1, 3])

# Of tensors of 4 by 4 and these types.
CASES = {
    "addcdiv": (lambda x, y: torch.addcdiv(x, y, y), [(_FLOAT, _INT), (_LONG, _LONG), (_FLOAT, _BOOL)]),
    "addmm": (torch.addmm, [(_FLOAT, _FLOAT, _DOUBLE), (_HALF, _FLOAT, _FLOAT)]),
    "argmax": (lambda x: x.argmax(-1), [(_BOOL,)]),
    "argmin": (lambda x: x.argmin(), [(_BOOL,)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x[None], 2), [(_INT,), (_BYTE,)]),
    "avg_pool3d": (lambda x: F.avg_pool3d(x[None, None], (1, 2, 2)), [(_HALF,), (_INT,)]),
    "adaptive_avg_pool": (lambda x: F.adaptive_avg_pool2d(x[None], 3), [(_BYTE,)]),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x[None], 3), [(_LONG,), (_BOOL,)]),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(x / 7, y), [(_FLOAT, _LONG), (_FLOAT, _DOUBLE)]),
    "ceil": (torch.ceil, [(_BOOL,)]),
    "clamp": (lambda x: x.clamp(max=1e5), [(_HALF,)]),
    "cdist": (torch.cdist, [(_HALF, _HALF), (_BFLOAT16, _BFLOAT16), (_FLOAT, _DOUBLE)]),
    "cross": (lambda x, y: torch.linalg.cross(x[:, :3], y[:, :3]), [(_FLOAT, _DOUBLE), (_BOOL, _BOOL)]),
    "dist": (torch.dist, [(_FLOAT, _BOOL), (_BOOL, _FLOAT)]),
    "erfcx": (torch.special.erfcx, [(_HALF,), (_BFLOAT16,)]),
    "hardsigmoid": (F.hardsigmoid, [(_INT,)]),
    "hardswish": (F.hardswish, [(_LONG,)]),
    "heaviside": (torch.heaviside, [(_BYTE, _FLOAT), (_FLOAT, _DOUBLE)]),
    "huber_loss": (F.huber_loss, [(_LONG, _FLOAT)]),
    "im2col": (lambda x: F.unfold(x[None, None], 2), [(_LONG,)]),
    "index_add": (lambda x, y: x.index_add(0, _PLACES, y), [(_FLOAT, _DOUBLE), (_LONG, _INT)]),
    "index_copy": (lambda x, y: x.index_copy(0, _PLACES, y), [(_FLOAT, _LONG)]),
    "index_put": (lambda x, y: x.index_put((_PLACES,), y), [(_FLOAT, _DOUBLE), (_BOOL, _FLOAT)]),
    "kthvalue": (lambda x: x.kthvalue(2)[0], [(_BOOL,)]),
    "layer_norm": (lambda x, w: F.layer_norm(x, [4], w[0], w[1]), [(_FLOAT, _HALF), (_DOUBLE, _FLOAT), (_HALF, _DOUBLE)]),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), [(_INT,)]),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.5), [(_LONG, _LONG)]),
    "mse_loss": (F.mse_loss, [(_LONG, _LONG)]),
    "neg": (lambda x: -x, [(_BOOL,)]),
    "pow": (torch.pow, [(_BOOL, _BOOL)]),
    "searchsorted": (lambda x: torch.searchsorted(x, x), [(_BOOL,)]),
    "std": (lambda x: x.std(0), [(_LONG,)]),
    "put": (lambda x, y: x.put(_PLACES, y[0]), [(_FLOAT, _DOUBLE)]),
    "softmax_backward": (
        lambda x, y: aten._softmax_backward_data(x, y, 1, x.dtype), [(_FLOAT, _DOUBLE), (_BFLOAT16, _FLOAT), (_INT, _INT)]),
    "sub": (torch.sub, [(_BOOL, _BOOL), (_FLOAT, _BOOL)]),
    "add of a multiple": (lambda x: torch.add(x, x, alpha=True), [(_FLOAT,), (_LONG,)]),
    "batch_norm": (lambda x, y: F.batch_norm(x, y[0], y[0]), [(_DOUBLE, _FLOAT)]),
    "batch_norm by a matrix": (lambda x: F.batch_norm(x[:, :2], x[0, :2], x[0, :2], x[:1, :2]), [(_FLOAT,)]),
    "batch_norm by rows": (lambda x: F.batch_norm(x, x[:1] * 1, x[:1] * 1, training=True), [(_FLOAT,)]),
    "bucketize": (lambda x: torch.bucketize(x, x), [(_FLOAT,)]),
    "convolution of no dilation": (lambda x: F.conv1d(x[None], x[:, :, None], dilation=0), [(_FLOAT,)]),
    "cross_entropy": (lambda x, y: F.cross_entropy(x, _PLACES, y[0]), [(_DOUBLE, _FLOAT)]),
    "hardshrink": (F.hardshrink, [(_LONG,)]),
    "index_add of other sizes": (lambda x: x.index_add(0, _PLACES, x[:, :1]), [(_FLOAT,)]),
    "index_copy by floats": (lambda x: x.index_copy(0, x[0], x), [(_FLOAT,)]),
    "index_reduce": (lambda x: x.index_reduce(0, _PLACES, x[:2], "mean"), [(_FLOAT,)]),
    "interpolate": (lambda x: F.interpolate(x[None, None], scale_factor=2), [(_LONG,), (_BOOL,)]),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, _PLACES), [(_HALF,)]),
    "select_scatter": (lambda x: x.select_scatter(x[:1], 0, 1), [(_FLOAT,)]),
    "full of what is none": (lambda x: x + torch.full((2, 1), 300, dtype=x.dtype), [(_BYTE,)]),
    "index_fill by a tensor": (lambda x, y: x.index_fill(0, _PLACES[:2], y[3, 3] * 500), [(_BYTE, _LONG)]),
    "linspace to a tensor": (lambda x, y: x + torch.linspace(0, y.sum() * 1e300, 4, dtype=x.dtype), [(_FLOAT, _DOUBLE)]),
    "logspace": (lambda x: x + torch.logspace(0, 1e300, 4, dtype=x.dtype), [(_FLOAT,)]),
    "masked_fill by a tensor": (
        lambda x, y: x.masked_fill(x > 2, y.sum() * 10**9), [(_BYTE, _LONG), (_HALF, _FLOAT), (_INT, _DOUBLE)]),
    "softmax_backward in another type": (lambda x: aten._softmax_backward_data(x, x, 1, torch.half), [(_FLOAT,)]),
    "softmax of a number": (lambda x: x.sum().softmax(-7), [(_FLOAT,)]),
    "subtraction of True": (lambda x: x - True, [(_FLOAT,), (_LONG,)]),
    "subtraction from True": (lambda x: True - x, [(_FLOAT,)]),
    "trunc": (torch.trunc, [(_BOOL,)]),
    "trace": (torch.trace, [(_BOOL,)]),
}


@pytest.mark.parametrize("name, dtypes", [(name, dtypes) for name, (_, each) in CASES.items() for dtypes in each])
def test_is_refused_as_by_eager(name, dtypes):
    function = CASES[name][0]
    given = [_square(dtype) for dtype in dtypes]
    with pytest.raises(Exception) as expected:
        function(*given)
    torch._dynamo.reset()
    with pytest.raises(Exception) as found:
        torch.compile(lambda *tensors: function(*tensors), backend="stoker")(*given)
    assert isinstance(found.value, type(expected.value)) or "TorchRuntimeError" in type(found.value).__name__


@torch.library.custom_op("refusals::refuse_nothing", mutates_args=())
def refuse_nothing(x: torch.Tensor) -> torch.Tensor:
    if x.numel() == 0:
        raise ValueError("nothing")
    return x * 2


refuse_nothing.register_fake(torch.empty_like)


_RESIZED = {
    "nearest": 3, "nearest-exact": 3, "linear": 3, "area": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def _resized(mode):
    return lambda x: F.interpolate(x + 1, scale_factor=2.0, mode=mode) * 3


@pytest.mark.filterwarnings("ignore:.*upsample_bilinear. is deprecated")
@pytest.mark.parametrize("function, shape", [
    (lambda x: F.adaptive_avg_pool3d(x, 2), (2, 0, 4, 4, 4)),
    (lambda x: F.upsample_bilinear(x, size=(0, 3)), (2, 3, 4, 4)),
    (_resized("bilinear"), (2, 3, 0, 4)), (_resized("bicubic"), (2, 0, 4, 4)), (_resized("nearest"), (2, 0, 4, 4)),
    (lambda x: refuse_nothing(x + 1) * 3, (0, 3))])
def test_tensors_without_elements_are_refused_as_by_eager(function, shape):
    x = torch.empty(shape)
    with pytest.raises(Exception) as expected:
        function(x)
    torch._dynamo.reset()
    with pytest.raises(type(expected.value)):
        torch.compile(lambda x: function(x), backend="stoker")(x)


@pytest.mark.parametrize("name, dtypes", [
    ("layer_norm", (_BFLOAT16, _FLOAT)), ("layer_norm", (_HALF, _HALF)), ("index_put", (_BOOL, _BOOL)),
    ("cdist", (_DOUBLE, _DOUBLE)), ("sub", (_LONG, _FLOAT)), ("index_add", (_FLOAT, _FLOAT)), ("hardswish", (_BFLOAT16,))])
def test_what_eager_takes_is_compiled(name, dtypes):
    import stoker

    function = CASES[name][0]
    given = [_square(dtype) for dtype in dtypes]
    torch._dynamo.reset()
    before = stoker.fallback_ops()
    found = torch.compile(lambda *tensors: function(*tensors), backend="stoker")(*given)
    torch.testing.assert_close(found, function(*given), rtol=2e-2, atol=2e-2)
    assert stoker.fallback_ops() == before


_COUNTS = torch.tensor([1, 2, 3, 4])


@pytest.mark.parametrize("function, given", [
    (lambda x, counts: torch.repeat_interleave(x + 1, counts, dim=0, output_size=10) * 2, (torch.ones(4, 3), _COUNTS)),
    (lambda x, lengths: torch.segment_reduce(x + 1, "sum", lengths=lengths) * 2, (torch.arange(10.0), _COUNTS))])
def test_what_some_elements_are_refused_for_is_compiled_once_eager_took_others(function, given, monkeypatch):
    in_eager = []
    monkeypatch.setattr(first_calls, "forward_of", lambda gm: in_eager.append(gm) or gm.forward)
    before = tally.counters().get("graphs_eager", 0)
    x, good = given
    bad = torch.full_like(good, 9)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: function(x, y), backend="stoker")
    for _ in range(2):
        with pytest.raises(RuntimeError):
            function(x, bad)
        with pytest.raises(RuntimeError):
            compiled(x, bad)
    for _ in range(2):
        torch.testing.assert_close(compiled(x, good), function(x, good))
    assert len(in_eager) == 3 and tally.counters().get("graphs_eager", 0) == before


def test_a_graph_that_stays_in_eager_says_so(warnings):  # noqa: F811
    torch._dynamo.reset()
    end = torch.tensor(9)
    compiled = torch.compile(lambda end: torch.arange(5, end) * 2, backend="stoker")
    assert [compiled(end).tolist() for _ in range(2)] == [[10, 12, 14, 16]] * 2
    assert len(warnings) == 1


@pytest.mark.parametrize("dtype, number", [
    (_BYTE, torch.tensor(True)), (_LONG, torch.tensor(7, dtype=_INT)), (_DOUBLE, torch.tensor(7)), (_FLOAT, torch.tensor(0.5)),
    (_FLOAT, torch.tensor(-7)), (_BOOL, torch.tensor(float("nan")))])
def test_a_number_that_its_type_holds_is_compiled(dtype, number):
    import stoker

    torch._dynamo.reset()
    before = stoker.fallback_ops()
    for function in (lambda x, y: x.masked_fill(x > 2, y), lambda x, y: x.index_fill(0, _PLACES[:2], y)):
        x = _square(dtype)
        torch.testing.assert_close(torch.compile(function, backend="stoker")(x, number), function(x, number))
    assert stoker.fallback_ops() == before


def _with_a_number_put_in(x):
    x = x.clone()
    x[0] = 1e300
    return x


@pytest.mark.parametrize("function, dtype", [
    (lambda x: torch.nn.functional.pad(x, (1, 1), value=70000), torch.float16), (_with_a_number_put_in, _FLOAT)])
def test_a_number_beyond_a_usual_type_is_refused(function, dtype):
    x = torch.ones(3, dtype=dtype)
    for tried in (function, torch.compile(function, backend="stoker")):
        with pytest.raises(RuntimeError, match="without overflow"):
            tried(x)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 65504, -1e300])
def test_a_number_that_a_usual_type_takes_is_none(number):
    x = torch.ones(3, dtype=torch.float16)
    function = lambda x: (x * number, x < number) if abs(number) > 1e5 else torch.nn.functional.pad(x, (1, 1), value=number)  # noqa: E731
    assert _refused(function, x) == [None]


def _products_in_bfloat16(x, y):
    with torch.autocast("cpu", dtype=_BFLOAT16):
        return x @ y


@pytest.mark.parametrize("function, given", [
    (lambda x, y: checkpoint(_products_in_bfloat16, x, y, use_reentrant=False), [_square(_BFLOAT16), _square(_FLOAT)]),
    (lambda x: torch.func.grad(torch.sin)(x), [torch.tensor(2.0)]),
    (lambda x, mask, y: x.index_put((mask,), y), [torch.ones(3), torch.tensor([True, False, True]), torch.ones(2)]),
    (lambda x: aten.as_strided.default(x[3:], (5,), (1,), 0), [torch.arange(6)])])
def test_what_an_operator_is_not_given_here_is_no_reason_to_refuse_it(function, given):
    assert _refused(function, *given) == [None]


def test_no_more_is_made_than_is_said(monkeypatch):
    x = torch.ones(5, dtype=_BOOL)
    monkeypatch.setattr(refusals, "MAX_ELEMENTS", 25)
    error, = _refused(lambda x: x[:, None].logical_or(x).sqrt() * x.div(2.5), x)
    assert error is None
    monkeypatch.setattr(refusals, "MAX_ELEMENTS", 24)
    tried = []
    monkeypatch.setattr(refusals, "_error_of", lambda node, *_: tried.append(node.target))
    assert _refused(lambda x: x[:, None].logical_or(x).sqrt() * x.div(2.5), x) == [None]
    assert "logical_or" not in tried and "div" in tried


@pytest.mark.parametrize("function", [
    lambda a, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b), lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b),
    lambda a, b: torch.lu_unpack(*torch.linalg.lu_factor(a))[0]])
def test_lapack_is_given_no_places_that_are_made_up(function, monkeypatch):
    """It takes each for a place in memory."""
    tried = []
    monkeypatch.setattr(refusals, "_error_of", lambda node, *_: tried.append(node.target.__name__))
    assert _refused(function, _square(_FLOAT) + 9 * torch.eye(4), torch.ones(4, 2)) == [None]
    assert not [name for name in tried if name.startswith(("linalg_ldl_solve", "linalg_lu_solve", "lu_unpack"))]


def _refused(function, *given):
    """What by_kernels() says of each graph."""
    found = []

    def look(gm, _):
        found.append(refusals.by_kernels(gm))
        return gm.forward

    torch._dynamo.reset()
    torch.compile(lambda *tensors: function(*tensors), backend=look)(*given)
    return found
