"""The table of operators and the inputs that each is tried on."""

import functools
import zlib

import torch

aten = torch.ops.aten
NAN, INF = float("nan"), float("inf")


class Case:
    """function(*inputs) in PyTorch against its mapping. `narrow`: also tried in bfloat16. `exact`: there against what
    PyTorch gives in float64, rounded, since its own kernels add up in bfloat16 on processors without AVX-512.
    """

    def __init__(self, name, function, *inputs, narrow=True, exact=False, tolerance=None):
        self.name, self.function, self.inputs = name, function, inputs
        self.narrow, self.exact, self.tolerance = narrow, exact, tolerance

    def expected(self, *inputs):
        """PyTorch's result."""
        if not self.exact or inputs[0].dtype != torch.bfloat16:
            return self.function(*inputs)
        return self.function(*[each.double() for each in inputs]).bfloat16()


CASES = []


def case(name, function, *inputs, **options):
    CASES.append(Case(name, function, *inputs, **options))


def floats(*shape, low=-3.0, high=3.0):
    """Uniform numbers, the same in every run for one shape and range."""
    seed = zlib.crc32(repr((shape, low, high)).encode())
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator) * (high - low) + low


def integers(*shape, low=-9, high=10, dtype=torch.int64):
    seed = zlib.crc32(repr((shape, low, high)).encode())
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def booleans(*shape):
    return integers(*shape, low=0, high=2).bool()


SPECIAL = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1e-3, -7.0])

# ---- Pointwise, one operand ------------------------------------------------------------------------

for op in ("exp", "exp2", "expm1", "sigmoid", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh",
           "erf", "neg", "floor", "ceil", "trunc", "round", "abs", "sign", "square", "frac", "sinc",
           "isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not", "reciprocal",
           "asinh", "deg2rad", "rad2deg", "nan_to_num", "positive"):
    function = getattr(torch, op)
    case(f"{op}", function, floats(3, 7))
    case(f"{op}_special", function, SPECIAL)
    case(f"{op}_scalar", function, floats())
    case(f"{op}_empty", function, floats(0, 5))
    case(f"{op}_transposed", function, floats(4, 5).t())
for op in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
    case(op, getattr(torch, op), floats(3, 7, low=0.01, high=9))
    case(f"{op}_special", getattr(torch, op), SPECIAL)
for op in ("asin", "acos", "atanh", "logit"):
    case(op, getattr(torch, op), floats(3, 7, low=-0.9, high=0.9), narrow=op != "logit")
case("logit_eps", lambda x: torch.logit(x, 1e-3), floats(3, 7, low=0, high=1))
case("acosh", torch.acosh, floats(3, 7, low=1, high=9))
case("asinh_large", torch.asinh, torch.tensor([1e20, -1e20, 1e-20, 1e10]), narrow=False)
for op in ("abs", "neg", "sign", "square", "floor", "ceil", "trunc", "round", "bitwise_not", "sqrt",
           "exp", "sigmoid", "logical_not", "isnan", "isfinite", "reciprocal", "sgn"):
    case(f"{op}_int", getattr(torch, op), integers(3, 5, low=1))
case("bitwise_not_bool", torch.bitwise_not, booleans(3, 5))
case("sign_u8", torch.sign, integers(5, low=0, dtype=torch.uint8))
case("abs_u8", torch.abs, integers(5, low=0, dtype=torch.uint8))
case("signbit_int", torch.signbit, integers(9))

# ---- Activations ----------------------------------------------------------------------------------

F = torch.nn.functional
for op, function in {
        "relu": F.relu, "relu6": F.relu6, "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
        "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh,
        "softplus": F.softplus, "softplus_beta": lambda x: F.softplus(x, 2.0, 3.0), "elu": F.elu,
        "celu": lambda x: F.celu(x, 0.7), "selu": F.selu, "leaky_relu": F.leaky_relu,
        "logsigmoid": F.logsigmoid, "hardshrink": F.hardshrink, "softshrink": F.softshrink,
        "tanhshrink": F.tanhshrink, "threshold": lambda x: F.threshold(x, 0.1, 20.0),
        "softsign": F.softsign, "dropout_off": lambda x: F.dropout(x, 0.5, training=False)}.items():
    case(op, function, floats(3, 8))
    if not op.startswith("gelu"):  # PyTorch's own is NaN at infinity in places.
        case(f"{op}_special", function, SPECIAL)
case("glu", F.glu, floats(3, 8))
case("glu_dim0", lambda x: F.glu(x, 0), floats(4, 3))
case("prelu", F.prelu, floats(2, 3, 4), floats(3))
case("prelu_one", F.prelu, floats(2, 3, 4), floats(1))

# ---- Pointwise, two operands ----------------------------------------------------------------------

PAIRS = {
    "plain": (floats(3, 5), floats(3, 5, low=0.5)), "row": (floats(3, 5), floats(5, low=0.5)),
    "column": (floats(3, 1), floats(1, 5, low=0.5)), "scalar_tensor": (floats(3), floats(low=0.5)),
    "empty": (floats(0, 5), floats(5, low=0.5)), "transposed": (floats(5, 3).t(), floats(5, low=1))}
for op in ("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "atan2", "fmod",
           "remainder", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
           "logical_xor", "hypot", "logaddexp", "xlogy", "floor_divide", "rsub"):
    for kind, inputs in PAIRS.items():
        if op in ("fmod", "remainder", "floor_divide"):
            # Quotients at a step differ by rounding alone in bfloat16.
            case(f"{op}_{kind}", getattr(torch, op), *inputs, narrow=False)
        else:
            case(f"{op}_{kind}", getattr(torch, op), *inputs)
    case(f"{op}_special", getattr(torch, op), SPECIAL.reshape(-1, 1), SPECIAL.reshape(1, -1),
         narrow=op not in ("fmod", "remainder", "floor_divide", "hypot", "logaddexp"))
for op in ("add", "sub", "mul", "maximum", "minimum", "fmod", "remainder", "floor_divide", "eq",
           "lt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "pow"):
    low = 1 if op in ("fmod", "remainder", "floor_divide", "pow") else -9
    case(f"{op}_int", getattr(torch, op), integers(4, 6), integers(6, low=low, high=4))
    case(f"{op}_i32", getattr(torch, op), integers(4, 6, dtype=torch.int32),
         integers(6, low=low, high=4, dtype=torch.int32))
for op in ("floor_divide", "remainder", "fmod"):
    case(f"{op}_negative", getattr(torch, op), integers(5, 7), integers(7, low=-5, high=-1))
    case(f"{op}_python", lambda x, f=getattr(torch, op): f(x, 3), integers(5, 7))
    case(f"{op}_python_float", lambda x, f=getattr(torch, op): f(x, 1.5), floats(5, 7), narrow=False)
for op in ("add", "mul", "maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max", "eq", "lt", "logical_xor",
           "bitwise_and", "bitwise_or", "bitwise_xor"):
    case(f"{op}_bool", getattr(torch, op), booleans(4, 6), booleans(6))
case("neg_u8", torch.neg, integers(5, 7, low=0, dtype=torch.uint8))
case("add_alpha", lambda x, y: torch.add(x, y, alpha=2.5), floats(3, 5), floats(5))
case("sub_alpha_int", lambda x, y: torch.sub(x, y, alpha=3), integers(3, 5), integers(5))
case("rsub_python", lambda x: 2.0 - x, floats(3, 5))
case("add_python_int", lambda x: x + 2, floats(3, 5))
case("mul_python_on_int", lambda x: x * 2.5, integers(3, 5))
case("add_mixed", torch.add, integers(3, 5), floats(5))
case("add_bool_int", torch.add, booleans(3, 5), integers(5))
case("add_u8_i8", torch.add, integers(5, low=0, dtype=torch.uint8),
     integers(5, dtype=torch.int8))
case("true_divide_int", torch.div, integers(3, 5), integers(5, low=1))
case("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), floats(3, 5),
     floats(5, low=0.5), narrow=False)
case("div_floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), floats(3, 5),
     floats(5, low=0.5), narrow=False)
case("div_floor_signed_zero", lambda x, y: 1 / torch.div(x, y, rounding_mode="floor"),
     torch.tensor([-0.0, 0.0, -0.0, 0.0, 1.0, -1.0]), torch.tensor([2.5, -2.5, -2.5, 2.5, 3.0, -3.0]), narrow=False)
case("div_floor_python", lambda x: torch.div(x, -2, rounding_mode="floor"), integers(9))
case("eq_mixed", torch.eq, integers(3, 5), floats(5).round())
case("lt_python_float_on_int", lambda x: x < 1.5, integers(3, 5))
case("gt_python_on_bool", lambda x: x > 0, booleans(7))
case("u8_wraps", lambda x, y: x * y + 200, integers(9, low=0, high=255, dtype=torch.uint8),
     integers(9, low=0, high=200, dtype=torch.uint8))
case("shift_left", torch.bitwise_left_shift, integers(5), integers(5, low=0, high=9))
case("shift_right", torch.bitwise_right_shift, integers(5), integers(5, low=0, high=3))
for exponent in (0, 1, 2, 3, 4, 0.5, -0.5, -1, -2, 2.5, 1.0, 3.0):
    case(f"pow_{exponent}", lambda x, e=exponent: torch.pow(x, e), floats(3, 7, low=0.1, high=3))
for exponent in (0.5, -0.5):
    case(f"pow_{exponent}_special", lambda x, e=exponent: x ** e, SPECIAL)
    case(f"pow_{exponent}_special_half", lambda x, e=exponent: x.half() ** e, SPECIAL)
case("pow_negative_base", lambda x: x ** 3, floats(3, 7))
case("pow_int_exponent", lambda x: x ** 5, integers(5))
case("pow_int_float", lambda x: x ** 0.5, integers(5, low=0))
case("pow_tensor", torch.pow, floats(3, 5, low=0.1), floats(5))
case("pow_python_base", lambda x: 2.0 ** x, floats(3, 5))
case("lerp", lambda x, y: torch.lerp(x, y, 0.3), floats(3, 5), floats(5))
case("lerp_tensor", torch.lerp, floats(3, 5), floats(5), floats(3, 5, low=0, high=1))
case("addcmul_of_integers", torch.addcmul, floats(2).half(), torch.tensor([2049, -3]), torch.tensor([3, 2]))
case("addcmul", lambda x, a, b: torch.addcmul(x, a, b, value=0.5), floats(3, 5), floats(5), floats(3, 1))
case("addcdiv", lambda x, a, b: torch.addcdiv(x, a, b, value=0.5), floats(3, 5), floats(5),
     floats(3, 1, low=1))
case("heaviside", torch.heaviside, SPECIAL, floats(12))
case("where", torch.where, booleans(3, 5), floats(3, 5), floats(5))
case("where_scalar", lambda c, x: torch.where(c, x, 0.0), booleans(3, 5), floats(5))
case("where_mixed", torch.where, booleans(3, 5), integers(3, 5), floats(5))
case("masked_fill", lambda x, m: x.masked_fill(m, -INF), floats(3, 5), booleans(5))
case("masked_fill_int", lambda x, m: x.masked_fill(m, 7), integers(3, 5), booleans(5))
case("clamp", lambda x: x.clamp(-1, 1), SPECIAL)
case("clamp_min", lambda x: x.clamp(min=0.5), floats(9))
case("clamp_max", lambda x: x.clamp(max=0.5), floats(9))
case("clamp_tensor", torch.clamp, floats(3, 5), floats(5, low=-2, high=-1), floats(3, 1, low=1))
case("clamp_int", lambda x: x.clamp(-2, 3), integers(9))
case("clamp_int_float", lambda x: x.clamp(-1.5, 3.5), integers(9))
for source in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8,
               torch.uint8, torch.bool):
    for target in (torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.int16,
                   torch.uint8, torch.bool):
        values = torch.tensor([0, 1, 2, 3, 100]).to(source)
        case(f"to_{source}_{target}".replace("torch.", ""), lambda x, t=target: x.to(t), values,
             narrow=False)
case("view_dtype", lambda x: x.view(torch.int32), floats(3, 5), narrow=False)
case("clone", torch.clone, floats(3, 5))

# ---- Shape ----------------------------------------------------------------------------------------

X = floats(2, 3, 4)
for name, function in {
        "view": lambda x: x.view(6, 4) + 1, "view_minus_one": lambda x: x.view(-1) + 1,
        "flatten": lambda x: x.flatten(1) + 1, "permute": lambda x: x.permute(2, 0, 1) + 1,
        "transpose": lambda x: x.transpose(0, -1) + 1, "movedim": lambda x: x.movedim(0, 2) + 1,
        "unsqueeze": lambda x: x.unsqueeze(-1) + 1, "squeeze": lambda x: x[:, :1].squeeze(1) + 1,
        "expand": lambda x: x.unsqueeze(1).expand(2, 5, 3, 4) + 1,
        "slice": lambda x: x[:, 1:3] + 1, "slice_step": lambda x: x[..., ::2] + 1,
        "slice_negative": lambda x: x[:, -2:] + 1, "slice_empty": lambda x: x[:, 3:] + 1,
        "select": lambda x: x[:, -1] + 1, "narrow": lambda x: x.narrow(2, 1, 2) + 1,
        "split": lambda x: torch.split(x + 1, 2, 2), "chunk": lambda x: torch.chunk(x + 1, 3, 1),
        "split_sizes": lambda x: torch.split(x + 1, [1, 3], 2),
        "unbind": lambda x: torch.unbind(x + 1, 1), "flip": lambda x: x.flip(0, 2),
        "roll": lambda x: x.roll((1, -2), (0, 2)), "roll_flat": lambda x: x.roll(5),
        "cat": lambda x: torch.cat([x, x * 2, x[:, :1]], 1),
        "cat_mixed": lambda x: torch.cat([x, x.to(torch.int64)], 0),
        "cat_legacy_empty": lambda x: torch.cat([torch.zeros(0), x], 0),
        "stack": lambda x: torch.stack([x, x + 1], 1), "hstack": lambda x: torch.hstack([x, x]),
        "repeat": lambda x: x.repeat(2, 1, 3, 1), "tile": lambda x: x.tile(2, 2),
        "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
        "diagonal": lambda x: x.diagonal(0, 1, 2) + 1,
        "diagonal_offset": lambda x: x.diagonal(1, 1, 2) + 1,
        "diagonal_below": lambda x: x.diagonal(-2, 1, 2) + 1,
        "diagonal_beyond": lambda x: x.diagonal(4, 1, 2) + 1,
        "unfold": lambda x: x.unfold(2, 2, 1) + 1, "unfold_step": lambda x: x.unfold(1, 2, 1) + 1,
        "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=1.5),
        "pad_crop": lambda x: F.pad(x, (-1, 2)), "pad_zero": lambda x: F.pad(x, (2, 0)),
        "reflect": lambda x: F.pad(x, (2, 1), mode="reflect"),
        "reflect2d": lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect"),
        "replicate": lambda x: F.pad(x, (2, 1), mode="replicate"),
        "replicate2d": lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"),
        "circular": lambda x: F.pad(x, (2, 1), mode="circular"),
        "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1), "tril_low": lambda x: x.tril(-1),
        "diag_embed": lambda x: torch.diag_embed(x), "diag_embed1": lambda x: torch.diag_embed(x, 1),
        "slice_scatter": lambda x: x.slice_scatter(x[:, 1:2] * 2, 1, 1, 2),
        "slice_scatter_step": lambda x: x.slice_scatter(x[..., :2] * 2, 2, 0, 4, 2),
        "select_scatter": lambda x: x.select_scatter(x[:, 0] * 2, 1, -1),
        "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(1, 4, 2, 3), 2),
        "pixel_unshuffle": lambda x: F.pixel_unshuffle(x.reshape(1, 1, 6, 4), 2),
        "channel_shuffle": lambda x: F.channel_shuffle(x.reshape(1, 6, 2, 2), 3),
        "meshgrid": lambda x: torch.meshgrid(x[0, 0] + 1, x[0, :, 0] + 1, indexing="ij"),
        "t": lambda x: x[0].t() + 1,
        "atleast": lambda x: torch.atleast_3d(x[0] + 1), "ravel": lambda x: x.ravel() + 1,
}.items():
    case(name, function, X)
case("cat_bool", lambda x, y: torch.cat([x, y]), booleans(3, 2), booleans(1, 2))
case("pad_bool", lambda x: F.pad(x, (1, 1), value=True), booleans(3, 2))
case("one_hot", lambda x: F.one_hot(x, 5), integers(7, low=0, high=5))

# ---- Creation -------------------------------------------------------------------------------------

for name, function in {
        "zeros_like": torch.zeros_like, "ones_like": torch.ones_like,
        "full_like": lambda x: torch.full_like(x, 2.5), "new_full": lambda x: x.new_full((3,), 7),
        "arange": lambda x: x[0, 0] + torch.arange(4), "eye": lambda x: x @ torch.eye(4).to(x),
        "arange_step": lambda x: x[0, 0] + torch.arange(1, 9, 2),
        "arange_float": lambda x: x[0, 0] + torch.arange(0, 2, 0.5),
        "arange_down": lambda x: x[0, 0] + torch.arange(7, -1, -2),
        "linspace": lambda x: x[0, 0] + torch.linspace(-1, 1, 4),
        "linspace_odd": lambda x: x[0, :, 0] + torch.linspace(0, 1, 3),
        "scalar_tensor": lambda x: x * torch.scalar_tensor(2.5), "fill": lambda x: torch.fill(x, 3),
        "empty_filled": lambda x: torch.empty_like(x).fill_(2) + x}.items():
    case(name, function, X)

# ---- Reductions -----------------------------------------------------------------------------------

REDUCED = {"all": (), "last": (-1,), "first": (0,), "two": ((0, 2),)}
for op in ("sum", "mean", "amax", "amin", "logsumexp", "var", "std"):
    for kind, dims in REDUCED.items():
        if op == "logsumexp" and not dims:
            continue
        case(f"{op}_{kind}", lambda x, f=getattr(torch, op), d=dims: f(x, *d), floats(3, 5, 7))
    case(f"{op}_keepdim", lambda x, f=getattr(torch, op): f(x, dim=1, keepdim=True), floats(3, 5, 7))
    case(f"{op}_special", lambda x, f=getattr(torch, op): f(x, dim=1), torch.tensor(
        [[1.0, NAN, 2.0], [INF, 1.0, 2.0], [-INF, 1.0, 2.0], [-INF, -INF, -INF]]))
    case(f"{op}_one", lambda x, f=getattr(torch, op): f(x, dim=1), floats(3, 1))
for op in ("sum", "mean", "prod"):
    case(f"{op}_empty", lambda x, f=getattr(torch, op): f(x, dim=0), floats(0, 3))
    case(f"{op}_scalar", getattr(torch, op), floats())
for op in ("sum", "prod", "amax", "amin"):
    case(f"{op}_int", lambda x, f=getattr(torch, op): f(x, 1), integers(3, 4, low=-3, high=4))
    case(f"{op}_i32", lambda x, f=getattr(torch, op): f(x, 1),
         integers(3, 4, low=-3, high=4, dtype=torch.int32))
    case(f"{op}_bool", lambda x, f=getattr(torch, op): f(x, 1), booleans(3, 4))
case("sum_to_dtype", lambda x: x.sum(0, dtype=torch.float64), floats(3, 4))
case("prod_all", torch.prod, floats(3, 4))
case("var_unbiased_off", lambda x: x.var(1, unbiased=False), floats(3, 5))
case("var_correction", lambda x: x.var(1, correction=2), floats(3, 5))
case("var_mean", lambda x: torch.var_mean(x, 1), floats(3, 5))
case("std_mean", lambda x: torch.std_mean(x, 1, keepdim=True), floats(3, 5))
for op in ("any", "all"):
    case(f"{op}_dim", lambda x, f=getattr(torch, op): f(x, 1), booleans(5, 3))
    case(f"{op}_all", getattr(torch, op), booleans(5, 3))
    case(f"{op}_float", lambda x, f=getattr(torch, op): f(x, 1), floats(5, 3).round())
    case(f"{op}_u8", lambda x, f=getattr(torch, op): f(x, 1), booleans(5, 3).to(torch.uint8))
for op in ("argmax", "argmin"):
    case(op, getattr(torch, op), floats(3, 5))
    case(f"{op}_dim", lambda x, f=getattr(torch, op): f(x, 1), floats(3, 5))
    case(f"{op}_keepdim", lambda x, f=getattr(torch, op): f(x, 0, True), floats(3, 5))
    case(f"{op}_nan", lambda x, f=getattr(torch, op): f(x), SPECIAL)
    case(f"{op}_int", lambda x, f=getattr(torch, op): f(x, 1), integers(3, 5))
    case(f"{op}_permuted", lambda x, f=getattr(torch, op): f(x), floats(3, 5, 7).permute(2, 0, 1))
    case(f"{op}_permuted_ties", lambda x, f=getattr(torch, op): f(x), floats(9, 17).round().t())
    case(f"{op}_flat_dims", lambda x, f=getattr(torch, op): f(x.permute(0, 3, 1, 2).flatten(1, 2), 1),
         floats(2, 3, 5, 17).round())
for op in ("max", "min"):
    case(f"{op}_dim", lambda x, f=getattr(torch, op): f(x, 1), floats(3, 5))
    case(f"{op}_all", getattr(torch, op), floats(3, 5))
    case(f"{op}_dim_int", lambda x, f=getattr(torch, op): f(x, 0, True), integers(3, 5))
case("aminmax", lambda x: torch.aminmax(x, dim=1), floats(3, 5))
for order in (0, 1, 2, 3, INF, -INF):
    case(f"norm_{order}", lambda x, p=order: torch.linalg.vector_norm(x, p, 1), floats(3, 5))
case("norm_all", lambda x: x.norm(), floats(3, 5))
case("softmax", lambda x: x.softmax(-1), floats(3, 5))
case("softmax_dim0", lambda x: x.softmax(0), floats(3, 5))
case("softmax_large", lambda x: x.softmax(-1), floats(3, 5, low=500, high=900))
case("softmax_masked", lambda x: x.softmax(-1), torch.tensor([[-INF, 1.0, 2.0], [-INF] * 3]))
case("softmax_to_f32", lambda x: x.softmax(-1, dtype=torch.float32), floats(3, 5))
case("softmax_scalar", lambda x: x.softmax(0), floats())
for value in (NAN, INF, -INF):
    case(f"softmax_scalar_{value}", lambda x: x.softmax(0), torch.tensor(value))
    case(f"log_softmax_scalar_{value}", lambda x: x.log_softmax(0), torch.tensor(value))
case("softmax_empty", lambda x: x.softmax(-1), floats(0, 5))
case("log_softmax", lambda x: x.log_softmax(-1), floats(3, 5))
case("logsumexp_inf", lambda x: x.logsumexp(1), torch.tensor([[-INF, -INF], [INF, 1.0]]))
for op in ("cumsum", "cumprod"):
    case(op, lambda x, f=getattr(torch, op): f(x, 1), floats(3, 5))
    case(f"{op}_int", lambda x, f=getattr(torch, op): f(x, 0), integers(3, 5))
case("cumsum_bool", lambda x: x.cumsum(-1), booleans(3, 5))
case("cummax", lambda x: x.cummax(1)[0], floats(3, 5))
case("cross_entropy", F.cross_entropy, floats(6, 5), integers(6, low=0, high=5))
case("cross_entropy_sum", lambda x, t: F.cross_entropy(x, t, reduction="sum"), floats(6, 5),
     integers(6, low=0, high=5))
case("cross_entropy_ignore", lambda x, t: F.cross_entropy(x, t, ignore_index=2), floats(6, 5),
     integers(6, low=0, high=5))
case("nll_weight", lambda x, t, w: F.nll_loss(x.log_softmax(1), t, w), floats(6, 5),
     integers(6, low=0, high=5), floats(5, low=0.5))
case("nll_none", lambda x, t: F.nll_loss(x, t, reduction="none"), floats(6, 5),
     integers(6, low=0, high=5))
case("mse_loss_of_integers", lambda x, y: F.mse_loss(x, y, reduction="none"), floats(2).half() + 2048,
     torch.tensor([2049, -3]))
case("mse_loss", F.mse_loss, floats(6, 5), floats(6, 5, low=0))
case("l1_loss", F.l1_loss, floats(6, 5), floats(6, 5, low=0))
case("smooth_l1", F.smooth_l1_loss, floats(6, 5), floats(6, 5, low=0))
case("huber_none", lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.5), floats(6, 5),
     floats(6, 5, low=0))
case("cosine_similarity", F.cosine_similarity, floats(3, 5), floats(3, 5, low=1))
case("normalize", F.normalize, floats(3, 5))

# ---- Normalization --------------------------------------------------------------------------------

case("layer_norm", lambda x, w, b: F.layer_norm(x, (7,), w, b), floats(3, 5, 7), floats(7), floats(7))
case("layer_norm_plain", lambda x: F.layer_norm(x, (5, 7)), floats(3, 5, 7))
case("layer_norm_all", lambda x, w, b: aten.native_layer_norm(x, [7], w, b, 1e-5), floats(3, 7),
     floats(7), floats(7))
case("layer_norm_large_mean", lambda x: F.layer_norm(x, (7,)), floats(3, 7, low=99, high=101),
     narrow=False, tolerance=1e-3)
case("rms_norm", lambda x, w: F.rms_norm(x, (7,), w, 1e-6), floats(3, 7), floats(7))
case("group_norm", lambda x, w, b: F.group_norm(x, 3, w, b), floats(2, 6, 4, 5), floats(6), floats(6))
case("group_norm_all", lambda x: aten.native_group_norm(x, None, None, 2, 6, 20, 2, 1e-5),
     floats(2, 6, 4, 5))
case("instance_norm", lambda x: F.instance_norm(x), floats(2, 6, 4, 5))
case("batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), floats(2, 3, 4, 5), floats(3),
     floats(3, low=0.5), floats(3), floats(3))
case("batch_norm_plain", lambda x, m, v: F.batch_norm(x, m, v), floats(4, 3), floats(3),
     floats(3, low=0.5))
case("batch_norm_training",
     lambda x, m, v, w, b: aten._native_batch_norm_legit_functional(
         x, w, b, m, v, True, 0.1, 1e-5), floats(4, 3, 5), floats(3), floats(3, low=0.5), floats(3),
     floats(3), narrow=False)
case("batch_norm_running_infinite",
     lambda x, m, v, w, b: aten._native_batch_norm_legit_functional(
         x, w, b, m, v, True, 0.1, 1e-5)[3], torch.tensor([[INF, 1.0, NAN], [2.0, 3.0, 0.0]]), floats(3),
     floats(3, low=0.5), floats(3), floats(3), narrow=False)

# ---- Contractions ---------------------------------------------------------------------------------

case("mm", torch.mm, floats(3, 4), floats(4, 5))
case("mm_transposed", lambda a, b: a @ b.t(), floats(3, 4), floats(5, 4))
case("mm_empty", torch.mm, floats(3, 0), floats(0, 5))
case("mm_int", torch.mm, integers(3, 4), integers(4, 5))
case("bmm", torch.bmm, floats(2, 3, 4), floats(2, 4, 5))
case("mv", torch.mv, floats(3, 4), floats(4))
case("dot", torch.dot, floats(4), floats(4))
case("outer", torch.outer, floats(4), floats(3))
case("addmm", torch.addmm, floats(5), floats(3, 4), floats(4, 5))
case("addmm_scaled", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), floats(3, 5),
     floats(3, 4), floats(4, 5))
case("addmm_beta0", lambda c, a, b: torch.addmm(c, a, b, beta=0), floats(5), floats(3, 4), floats(4, 5))
case("baddbmm", torch.baddbmm, floats(2, 3, 5), floats(2, 3, 4), floats(2, 4, 5))
case("addmv", torch.addmv, floats(3), floats(3, 4), floats(4))
case("addbmm", torch.addbmm, floats(3, 5), floats(2, 3, 4), floats(2, 4, 5))
case("linear", F.linear, floats(2, 3, 4), floats(5, 4), floats(5))
case("linear_plain", F.linear, floats(4), floats(5, 4))
case("matmul_broadcast", torch.matmul, floats(2, 1, 3, 4), floats(3, 4, 5))
case("matmul_vector", torch.matmul, floats(2, 3, 4), floats(4))
case("einsum", lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), floats(2, 3, 4, 5),
     floats(2, 3, 6, 5))
case("cdist_like", lambda a, b: (a[:, None] - b[None]).square().sum(-1).sqrt(), floats(3, 4),
     floats(5, 4))

# ---- Convolutions and pooling ---------------------------------------------------------------------

IMAGE = floats(2, 4, 9, 8)
for name, options in {
        "plain": {}, "stride": {"stride": 2}, "padding": {"padding": (1, 2)},
        "dilation": {"dilation": 2, "padding": 2}, "groups": {"groups": 2},
        "same": {"padding": "same"}}.items():
    weight = floats(6, 2 if name == "groups" else 4, 3, 3)
    case(f"conv2d_{name}", lambda x, w, b, o=options: F.conv2d(x, w, b, **o), IMAGE, weight, floats(6))
case("conv2d_depthwise", lambda x, w: F.conv2d(x, w, groups=4), IMAGE, floats(8, 1, 3, 3))
case("conv2d_1x1", F.conv2d, IMAGE, floats(6, 4, 1, 1))
case("conv2d_unbatched", F.conv2d, IMAGE[0], floats(6, 4, 3, 3))
case("conv2d_channels_last", F.conv2d, IMAGE.to(memory_format=torch.channels_last),
     floats(6, 4, 3, 3).to(memory_format=torch.channels_last))
case("conv1d", lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), floats(2, 3, 9), floats(4, 3, 3),
     floats(4))
case("conv3d", F.conv3d, floats(1, 2, 4, 5, 6), floats(3, 2, 2, 3, 3))
for name, options in {
        "plain": {}, "stride": {"stride": 2, "padding": 1, "output_padding": 1},
        "dilation": {"dilation": 2, "stride": 3}, "beyond the window": {"stride": 5, "output_padding": 2},
        "groups": {"groups": 2}}.items():
    case(f"conv_transpose2d_{name}",
         lambda x, w, b, o=options: F.conv_transpose2d(x, w, b, **o), floats(2, 4, 5, 6),
         floats(4, 3, 3, 3), floats(6 if name == "groups" else 3), exact=True)
case("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2), floats(2, 4, 5),
     floats(4, 3, 3), exact=True)
case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE)
case("max_pool2d_ceil", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), IMAGE)
case("max_pool2d_dilation", lambda x: F.max_pool2d(x, 2, 1, 0, 2), IMAGE)
case("max_pool2d_unbatched", lambda x: F.max_pool2d(x, 2), IMAGE[0])
case("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), floats(2, 3, 9))
case("max_pool3d", lambda x: F.max_pool3d(x, 2), floats(1, 2, 4, 5, 6))
case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE)
case("avg_pool2d_ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE)
case("avg_pool2d_exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), IMAGE)
case("avg_pool2d_divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE)
case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), floats(2, 3, 9))
case("avg_pool3d", lambda x: F.avg_pool3d(x, 2), floats(1, 2, 4, 5, 6), narrow=False)
case("adaptive_avg_pool2d_one", lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE)
case("adaptive_avg_pool2d_even", lambda x: F.adaptive_avg_pool2d(x, (3, 4)), IMAGE)
case("adaptive_avg_pool2d_odd", lambda x: F.adaptive_avg_pool2d(x, (4, 3)), IMAGE)
case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 3), floats(2, 3, 7))
case("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 2), floats(1, 2, 4, 5, 6))
case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 4)), IMAGE)
case("upsample_nearest", lambda x: F.interpolate(x, scale_factor=2), IMAGE)
case("upsample_nearest_odd", lambda x: F.interpolate(x, size=(13, 5)), IMAGE)
case("upsample_nearest_1d", lambda x: F.interpolate(x, size=7), floats(2, 3, 5))
case("upsample_bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE)
case("upsample_bilinear_corners",
     lambda x: F.interpolate(x, size=(5, 13), mode="bilinear", align_corners=True), IMAGE)
case("upsample_linear", lambda x: F.interpolate(x, size=7, mode="linear"), floats(2, 3, 5))

# ---- Attention ------------------------------------------------------------------------------------

sdpa = F.scaled_dot_product_attention
Q, K, V = floats(2, 4, 5, 8), floats(2, 4, 7, 8, low=-2), floats(2, 4, 7, 8, high=2)
case("attention", sdpa, Q, K, V)
case("attention_causal", lambda q: sdpa(q, q * 2, q + 1, is_causal=True), Q)
case("attention_scale", lambda q, k, v: sdpa(q, k, v, scale=0.3), Q, K, V)
case("attention_bool_mask", sdpa, Q, K, V, torch.tensor([[1, 1, 0, 1, 0, 0, 1]] * 5).bool())
case("attention_float_mask", sdpa, Q, K, V, floats(2, 1, 5, 7), narrow=False)
case("attention_head_mask", sdpa, Q, K, V, floats(2, 4, 5, 7), narrow=False)
case("attention_triangle_mask",
     lambda q: sdpa(q, q * 2, q + 1, torch.ones(5, 5, dtype=torch.bool).tril()), Q)
case("attention_3d", sdpa, Q[0], K[0], V[0])
case("attention_transposed", lambda q, k, v: sdpa(*(x.transpose(1, 2) for x in (q, k, v))),
     floats(2, 5, 4, 8), floats(2, 7, 4, 8), floats(2, 7, 4, 8, low=0))


def attention_gradients(q, k, v, mask=None, causal=False, scale=None):
    """With respect to q, k and v, and the logarithms of the sums that they follow from."""
    options = {"attn_mask": mask, "scale": scale}
    result, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, **options)
    gradients = aten._scaled_dot_product_flash_attention_for_cpu_backward(
        result * 2 + 1, q, k, v, result, sums, 0.0, causal, **options)
    return torch.cat([x.flatten() for x in (*gradients, sums.to(q.dtype))])


case("attention_gradients", attention_gradients, Q, K, V, narrow=False)
case("attention_gradients_causal", lambda q: attention_gradients(q, q / 2, q + 1, causal=True, scale=0.3), Q,
     narrow=False)
case("attention_gradients_nothing_kept", attention_gradients, Q, K, V,
     torch.tensor([[0.0] * 7, [-INF] * 7, [0.0, -INF] + [1.0] * 5, [0.0] * 7, [2.0] * 7])[None, None], narrow=False)
case("attention_gradients_grouped", attention_gradients, Q, K[:, :2], V[:, :2], floats(5, 7), narrow=False)
case("attention_gradients_float_mask", attention_gradients, Q, K, V, floats(2, 1, 5, 7), narrow=False)
case("attention_grouped", lambda q, k, v: sdpa(q, k, v, enable_gqa=True), Q, K[:, :2], V[:, :2])

# ---- Indexing and ordering ------------------------------------------------------------------------

I = functools.partial(integers, low=0)
case("embedding", F.embedding, I(3, 4, high=10), floats(10, 5))
case("embedding_i32", F.embedding, I(3, 4, high=10, dtype=torch.int32), floats(10, 5))
case("embedding_scalar", F.embedding, I(high=10), floats(10, 5))
case("index_select", lambda x, i: x.index_select(1, i), floats(3, 5, 2), I(4, high=5))
case("gather", lambda x, i: x.gather(1, i), floats(3, 5), I(2, 4, high=5))
case("gather_dim0", lambda x, i: x.gather(0, i), floats(3, 5), I(2, 4, high=3))
case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), floats(3, 5), I(3, 2, high=5))
for name, function in {
        "one": lambda x, i: x[i], "negative": lambda x, i: x[i - 3], "second": lambda x, i: x[:, i],
        "last": lambda x, i: x[..., i], "two": lambda x, i: x[i, i],
        "apart": lambda x, i: x[i, :, i], "matrix": lambda x, i: x[i[:, None], i[None]],
        "behind": lambda x, i: x[:, i, i]}.items():
    case(f"index_{name}", function, floats(3, 3, 3), I(4, high=3))
case("index_empty", lambda x, i: x[i], floats(3, 3), I(0, high=3))
case("index_int", lambda x, i: x[i], integers(3, 3), I(4, high=3))
case("index_bool_mask_put", lambda x, m: x.masked_fill(m, 0) + torch.where(m, 1.0, 0.0), floats(3, 3),
     booleans(3, 3))
case("index_put", lambda x, i, v: x.index_put((i,), v), floats(5, 3), torch.tensor([3, 0]), floats(2, 3))
case("index_put_two", lambda x, i, v: x.index_put((i, i), v), floats(5, 5, 3), torch.tensor([3, 0]),
     floats(2, 3))
case("index_put_add", lambda x, i, v: x.index_put((i,), v, accumulate=True), floats(5, 3),
     torch.tensor([3, 0, 3]), floats(3, 3))
case("index_put_mask", lambda x, m: x.index_put((m,), torch.tensor(2.0).to(x)), floats(5, 3), booleans(5, 3))
case("index_add", lambda x, i, v: x.index_add(0, i, v), floats(5, 3), torch.tensor([3, 0, 3]),
     floats(3, 3))
case("index_copy", lambda x, i, v: x.index_copy(1, i, v), floats(5, 3), torch.tensor([2, 0]),
     floats(5, 2))
case("index_fill", lambda x, i: x.index_fill(1, i, 7.0), floats(5, 3), torch.tensor([2, 0]))
case("scatter", lambda x, i, v: x.scatter(1, i, v), floats(3, 5), torch.tensor([[0, 2], [4, 1]]),
     floats(2, 2))
case("scatter_value", lambda x, i: x.scatter(0, i, 7.0), floats(3, 5), I(1, 5, high=3))
case("scatter_add", lambda x, i, v: x.scatter_add(1, i, v), floats(3, 5), I(3, 6, high=5), floats(3, 6))
case("scatter_reduce_amax", lambda x, i, v: x.scatter_reduce(1, i, v, "amax"), floats(3, 5),
     I(3, 6, high=5), floats(3, 6))
case("isin", torch.isin, integers(4, 5), torch.tensor([1, 2, 3]))
case("isin_floats", torch.isin, integers(4, 5), torch.tensor([1.5, 2, 3.25]))
case("isin_bytes", lambda x, y: (torch.isin(x, y), torch.isin(y, x, invert=True)),
     torch.tensor([1, 200, 7], dtype=torch.uint8), torch.tensor([257, -56, 7]))
case("isin_one", lambda x, y: torch.isin(x, y, assume_unique=True), torch.tensor([0.5, 0.1]),
     torch.tensor(0.1, dtype=torch.float64), narrow=False)
case("isin_number", lambda x: (torch.isin(x, 1.5), torch.isin(x, 2), torch.isin(x, 2.0, invert=True)), integers(4, 5))
for _count in (5, 10):  # From 10 on PyTorch takes the number for a vector.
    case(f"one_isin_{_count}", torch.isin, torch.tensor(0.1, dtype=torch.float64), torch.full((_count,), 0.1),
         narrow=False)
case("sort", lambda x: x.sort(-1), floats(3, 7))
case("sort_descending", lambda x: x.sort(0, descending=True), floats(7, 3))
case("sort_nan", lambda x: x.sort(stable=True), SPECIAL)
case("sort_int", lambda x: torch.sort(x, stable=True), integers(3, 7))
case("argsort", lambda x: x.argsort(-1), floats(3, 7))
case("topk", lambda x: x.topk(3), floats(4, 7))
case("topk_smallest", lambda x: x.topk(2, dim=0, largest=False), floats(7, 4))
case("topk_values", lambda x: x.topk(3)[0], integers(4, 7))
case("kthvalue", lambda x: x.kthvalue(3), floats(4, 7))

# ---- Gradients of activations and losses -----------------------------------------------------------

G, X = floats(3, 7, low=-2.0, high=2.0), floats(3, 7, low=-6.0, high=6.0)
CHANCES = floats(3, 7, low=0.0, high=1.0).clamp(0.01, 0.99).index_fill(0, torch.tensor([1]), 1.0)
BENDS = torch.tensor([[-3.0, 3.0, 0.0, -0.0, 0.5, -0.5, NAN], [6.0, 1.0, -1.0, INF, -INF, 2.5, -2.5]])
for name, function in {
        "sigmoid": aten.sigmoid_backward, "tanh": aten.tanh_backward, "silu": aten.silu_backward,
        "gelu": aten.gelu_backward, "mish": aten.mish_backward,
        "gelu_tanh": lambda g, x: aten.gelu_backward(g, x, approximate="tanh"),
        "elu": lambda g, x: aten.elu_backward(g, 1.5, 2.0, 0.5, False, x),
        "elu_result": lambda g, x: aten.elu_backward(g, 1.5, 2.0, 0.5, True, x),
        "leaky_relu": lambda g, x: aten.leaky_relu_backward(g, x, 0.1, False),
        "hardtanh": lambda g, x: aten.hardtanh_backward(g, x, -1.0, 2.5),
        "hardsigmoid": aten.hardsigmoid_backward, "hardswish": aten.hardswish_backward,
        "softplus": lambda g, x: aten.softplus_backward(g, x, 2.0, 5.0),
        "threshold": lambda g, x: aten.threshold_backward(g, x, 0.5),
        "hardshrink": lambda g, x: aten.hardshrink_backward(g, x, 0.5),
        "softshrink": lambda g, x: aten.softshrink_backward(g, x, 0.5),
        "logit_eps": lambda g, x: aten.logit_backward(g, x, 0.1)}.items():
    case(f"{name}_backward", function, G, X)
    if name not in ("tanh", "silu", "gelu", "gelu_tanh", "mish"):
        case(f"{name}_backward_bends", function, floats(2, 7), BENDS)
case("logit_eps_large", lambda x: x.logit(0.8), floats(3, 7, low=-0.2, high=1.2))
for name, stride, pad, dilation, groups, window in (
        ("", 1, 1, 1, 1, (3, 2)), ("strided", (2, 3), (0, 1), 1, 1, (3, 2)), ("dilated", 1, (2, 0), (1, 2), 1, (3, 2)),
        ("grouped", 2, 1, 1, 2, (3, 2)), ("strided_and_dilated", (2, 4), (1, 2), (3, 2), 1, (2, 3)),
        ("strided_beyond_the_window", (4, 3), (2, 0), 1, 1, (3, 2)), ("of_one_place", 1, 0, 1, 1, (1, 1)),
        ("of_one_place_strided", (2, 3), 0, 1, 1, (1, 1))):
    for transposed in (False, True):
        def both_gradients(x, w, s=stride, p=pad, d=dilation, n=groups, t=transposed):
            s, p, d = ([v, v] if isinstance(v, int) else list(v) for v in (s, p, d))
            arguments = (s, p, d, t, [0, 0], n)
            result = aten.convolution(x, w, None, *arguments)
            return aten.convolution_backward(result.sin(), x, w, [6], *arguments, [True, True, True])

        shape = (4, 6 // groups, *window) if transposed else (6, 4 // groups, *window)
        case(f"convolution_backward_{name}{'_transposed' if transposed else ''}", both_gradients,
             floats(2, 4, 8, 7), floats(*shape), narrow=False, tolerance=1e-4)
case("logit_backward", lambda g, x: aten.logit_backward(g, x), G, floats(3, 7, low=-0.2, high=1.2), narrow=False)
case("prelu_backward", lambda g, x, w: aten._prelu_kernel_backward(g, x, w), G, X, floats(3, 7))
case("glu_backward", lambda g, x: aten.glu_backward(g, x, 1), floats(3, 4), floats(3, 8))
case("dropout_backward", lambda g, m: aten.native_dropout_backward(g, m, 2.0), G, booleans(3, 7))
case("softmax_backward", lambda g, x: aten._softmax_backward_data(g, x.softmax(1), 1, x.dtype), G, X, narrow=False)
case("log_softmax_backward",
     lambda g, x: aten._log_softmax_backward_data(g, x.log_softmax(0), 0, x.dtype), G, X, narrow=False)
for reduction in (0, 1, 2):
    grad = G if reduction == 0 else floats()
    for name, function in {
            "mse": lambda g, x, t, r=reduction: aten.mse_loss_backward(g, x, t, r),
            "smooth_l1": lambda g, x, t, r=reduction: aten.smooth_l1_loss_backward(g, x, t, r, 0.5),
            "huber": lambda g, x, t, r=reduction: aten.huber_loss_backward(g, x, t, r, 1.5),
            "soft_margin": lambda g, x, t, r=reduction: aten.soft_margin_loss_backward(g, x, t, r)}.items():
        case(f"{name}_loss_backward_{reduction}", function, grad, X, floats(3, 7, low=-4.0), tolerance=2e-2)
    for name, function in {
            "huber": lambda x, t, r=reduction: aten.huber_loss(x, t, r, 1.5),
            "soft_margin": lambda x, t, r=reduction: aten.soft_margin_loss(x, t, r),
            "bce_logits": lambda x, t, r=reduction: aten.binary_cross_entropy_with_logits(
                x, t, t + 1, t * 2, r)}.items():
        case(f"{name}_loss_{reduction}", function, X, floats(3, 7), tolerance=2e-2)
    case(f"bce_loss_{reduction}", lambda x, t, r=reduction: aten.binary_cross_entropy(x, t, x * t, r),
         CHANCES, floats(3, 7, low=0.0, high=1.0), narrow=False)
    case(f"bce_loss_backward_{reduction}",
         lambda g, x, t, r=reduction: aten.binary_cross_entropy_backward(g, x, t, x * t, r),
         grad, CHANCES, floats(3, 7, low=0.0, high=1.0), narrow=False)
    case(f"nll_loss_backward_{reduction}",
         lambda g, x, t, w, n, r=reduction: aten.nll_loss_backward(g, x, t, w, r, 2, n),
         floats(6) if reduction == 0 else floats(), floats(6, 5), integers(6, low=0, high=5),
         floats(5, low=0.5), floats(low=1))
    case(f"nll_loss2d_backward_{reduction}",
         lambda g, x, t, n, r=reduction: aten.nll_loss2d_backward(g, x, t, None, r, 2, n),
         floats(2, 3, 4) if reduction == 0 else floats(), floats(2, 5, 3, 4),
         integers(2, 3, 4, low=0, high=5), floats(low=1))

# ---- Gradients of parts, windows and diagonals ------------------------------------------------------

case("slice_backward", lambda g: aten.slice_backward(g, [4, 9], 1, -8, 2**63 - 1, 3), floats(4, 3))
case("slice_backward_empty", lambda g: aten.slice_backward(g, [4, 9], 1, 5, 5, 1), floats(4, 0))
case("select_backward", lambda g: aten.select_backward(g, [4, 5, 3], 1, -2), floats(4, 3))
case("diagonal_backward", lambda g: aten.diagonal_backward(g, [4, 5, 3], -1, 1, 0), floats(3, 4))
case("diagonal_backward_empty", lambda g: aten.diagonal_backward(g, [4, 5], 7, 0, 1), floats(0))
case("diagonal_scatter", lambda x, s: x.diagonal_scatter(s, 1, 0, 2), floats(3, 5, 4), floats(5, 3))
case("diag_embed_dims", lambda x: x.diag_embed(-1, 0, 2), floats(3, 4))
case("unfold_backward", lambda g: aten.unfold_backward(g, [7, 3], 0, 3, 2), floats(3, 3, 3))
for name, pad in (("both", [2, 1]), ("crop", [-1, 2]), ("crops", [1, -2])):
    case(f"reflection_pad_backward_{name}",
         lambda x, g, p=pad: aten.reflection_pad1d_backward(F.pad(g, p), x, p), floats(2, 5), floats(2, 5))
    case(f"replication_pad_backward_{name}",
         lambda x, g, p=pad: aten.replication_pad1d_backward(F.pad(g, p), x, p), floats(2, 5), floats(2, 5))
case("im2col", lambda x: F.unfold(x, (2, 3), (2, 1), (1, 2), (1, 2)), floats(2, 3, 6, 7))
case("col2im", lambda x: F.fold(x, (6, 7), (2, 3), (2, 1), (1, 2), (1, 2)), floats(2, 18, 30))
for turns in (1, 2, 3, 4, -1):
    case(f"rot90_{turns}", lambda x, k=turns: x.rot90(k, (0, 2)), floats(2, 3, 4))
case("block_diag", lambda *x: torch.block_diag(*x), floats(2, 3), floats(4), floats())
case("chunk_cat", lambda a, b: torch._chunk_cat([a, b], 0, 2), floats(3, 4), floats(2, 2))
case("trace", torch.trace, floats(3, 5), narrow=False)
case("trace_int", torch.trace, integers(5, 3))

# ---- Pooling with places, and its gradients ----------------------------------------------------------

IMAGES = floats(2, 3, 8, 9)
HOLES = torch.where(IMAGES > 1.5, torch.tensor(NAN), IMAGES.round())
for name, function in {
        "pad": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        "dilated": lambda x: F.max_pool2d(x, (2, 3), 1, (1, 0), (3, 2), return_indices=True),
        "ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        "adaptive": lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True),
        "adaptive_even": lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True)}.items():
    case(f"max_pool_places_{name}", function, IMAGES)
    case(f"max_pool_places_{name}_holes", function, HOLES)
    case(f"max_pool_backward_{name}",
         lambda x, f=function: aten.adaptive_max_pool2d_backward(f(x)[0] * 2, x, f(x)[1]), IMAGES)
case("max_unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), floats(2, 3, 8, 8))
for name, arguments in {
        "pad": ([3, 3], [2, 2], [1, 1], False, True, None), "inside": ([3, 2], [2, 3], [1, 0], False, False, None),
        "ceil": ([3, 3], [2, 2], [0, 1], True, False, None), "divisor": ([2, 2], [3, 3], [0, 0], False, True, 7)}.items():
    case(f"avg_pool_backward_{name}",
         lambda x, a=arguments: aten.avg_pool2d_backward(aten.avg_pool2d(x, *a), x, *a), IMAGES)
for sizes in ([4, 3], [3, 5], [1, 1], [8, 12]):
    case(f"adaptive_avg_pool_{'x'.join(map(str, sizes))}", lambda x, s=sizes: aten._adaptive_avg_pool2d(x, s), IMAGES)
    case(f"adaptive_avg_pool_backward_{'x'.join(map(str, sizes))}",
         lambda x, s=sizes: aten._adaptive_avg_pool2d_backward(aten._adaptive_avg_pool2d(x, s), x), IMAGES)
case("adaptive_avg_pool_infinite", lambda x: aten._adaptive_avg_pool2d(x, [3, 1]),
     torch.tensor([INF, 1, 2, 3, 4.0]).reshape(1, 1, 5, 1))

# ---- Distances and products ---------------------------------------------------------------------------

case("pdist_inf", lambda a: F.pdist(a, INF), floats(5, 3), narrow=False)
for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
    case(f"cdist_{p}", lambda a, b, p=p: torch.cdist(a, b, p), floats(2, 4, 3), floats(2, 5, 3), narrow=False)
    case(f"cdist_backward_{p}",
         lambda g, a, b, p=p: aten._cdist_backward(g, a, b, p, torch.cdist(a, b, p)),
         floats(4, 4), floats(4, 3), floats(4, 3), narrow=False)
    case(f"pdist_{p}", lambda a, p=p: F.pdist(a, p), floats(5, 3), narrow=False)
    case(f"pdist_backward_{p}", lambda g, a, p=p: aten._pdist_backward(g, a, p, F.pdist(a, p)),
         floats(10), floats(5, 3), narrow=False)
case("cdist_same", lambda g, a: aten._cdist_backward(g, a, a, 2.0, torch.cdist(a, a)), floats(4, 4), floats(4, 3),
     narrow=False)
case("dist", lambda a, b: torch.dist(a, b, 3), floats(3, 4), floats(3, 4))
case("renorm", lambda x: x.renorm(2, 1, 3.0), floats(3, 4, 2))
case("cross", lambda a, b: torch.linalg.cross(a, b, dim=1), floats(2, 3, 4), floats(1, 3, 4))
case("addr", lambda x, a, b: torch.addr(x, a, b, beta=2, alpha=3), floats(3, 4), floats(3), floats(4))
case("bilinear", F.bilinear, floats(2, 3), floats(2, 4), floats(5, 3, 4), floats(5))

# ---- Bits ---------------------------------------------------------------------------------------------

MIRRORED = SPECIAL.flip(0)
case("signbit", torch.signbit, SPECIAL, narrow=False)
case("copysign", torch.copysign, SPECIAL, MIRRORED, narrow=False)
case("nextafter", torch.nextafter, SPECIAL, MIRRORED)
case("angle", torch.angle, SPECIAL)
case("round_decimals", lambda x: x.round(decimals=2), X)
case("round_tens", lambda x: x.round(decimals=-1), X * 10)
case("frexp", lambda x: tuple(torch.frexp(x)), SPECIAL)
if hasattr(torch, "hash_tensor"):
    case("hash_tensor", lambda x: (torch.hash_tensor(x), torch.hash_tensor(x, dim=(0, -1), keepdim=True)),
         floats(3, 4, 5))
    case("hash_tensor_int", lambda x: torch.hash_tensor(x, dim=1), integers(3, 7))
case("ldexp", torch.ldexp, X, integers(3, 7))
if not aten.ldexp.Tensor.has_kernel_for_dispatch_key("CompositeImplicitAutograd"):  # Else it is a product with a power.
    case("ldexp_of_zeros", torch.ldexp, torch.tensor([0.0, -0.0, 1e-30, 1.5, INF, 1.5]),
         torch.tensor([300, 2000, 200, 128, -300, -149]))
    case("ldexp_f64", torch.ldexp, torch.tensor([0.0, 1e-300, 5e-324, 1 + 2.0**-52, 1e300], dtype=torch.float64),
         torch.tensor([2000, 1500, 2000, -1074, -2000]))
case("logaddexp2", torch.logaddexp2, SPECIAL, MIRRORED)

# ---- Sums and places of what is running, sorted or chosen -------------------------------------------

RUNNING = torch.tensor([[1.0, 3, 3, 2, NAN, 5, NAN], [2.0, 2, 1, -INF, INF, 0, INF]])
case("cummax_places", lambda x: torch.cummax(x, 1), RUNNING)
case("cummin_places", lambda x: torch.cummin(x, 1), RUNNING)
case("logcumsumexp", lambda x: x.logcumsumexp(1), floats(3, 7, low=-90, high=90))
case("logcumsumexp_special", lambda x: x.logcumsumexp(0), SPECIAL)
case("logcumsumexp_long", lambda x: x.logcumsumexp(-1), floats(2, 300, low=-9, high=9), exact=True)
case("logcumsumexp_columns", lambda x: x.logcumsumexp(0), floats(300, 3, low=-9, high=9), exact=True)
case("logcumsumexp_scalar", lambda x: x.logcumsumexp(0), floats())
case("nansum", lambda x: x.nansum(1), RUNNING)
case("count_nonzero", lambda x: torch.count_nonzero(x, 1), integers(3, 7))
case("median", lambda x: x.median(), floats(3, 7))
case("median_nan", lambda x: x.median(), SPECIAL)
case("nanmedian", lambda x: x.nanmedian(), SPECIAL)
case("median_dim", lambda x: x.median(0), floats(6, 3))
case("mode", lambda x: x.mode(1), integers(4, 9, low=0, high=4))
case("mode_nan", lambda x: x.mode(), SPECIAL)
case("embedding_renorm", lambda w, i: aten.embedding_renorm(w, i, 2.0, 2.0), floats(5, 3), torch.tensor([3, 0, 3]))
case("embedding_backward_by_frequency", lambda g, i: aten.embedding_dense_backward(g, i, 5, 1, True),
     floats(4, 3), torch.tensor([3, 0, 3, 1]))
case("index_put_mask_rows", lambda x, m, v: x.index_put((m,), v), floats(5, 3), booleans(5), floats(3))
case("index_put_mask_add", lambda x, m, v: x.index_put((m,), v, accumulate=True), floats(5, 3), booleans(5), floats(1, 3))
case("searchsorted_other_dtype", torch.searchsorted, torch.tensor([-1.0, 0.5, 2]), integers(3, 7))
case("searchsorted", torch.searchsorted, torch.tensor([-1.0, 0, 0, 2, NAN]), X)
case("searchsorted_rows", lambda s, x: torch.searchsorted(s, x, right=True), floats(3, 6).sort().values, floats(3, 2))
case("searchsorted_sorter", lambda s, x, i: torch.searchsorted(s, x, sorter=i), floats(6), floats(3, 2),
     floats(6).argsort(), narrow=False)
case("searchsorted_number", lambda s: (torch.searchsorted(s, 2, right=True), torch.searchsorted(s, 0.5)), integers(7).sort().values)
case("bucketize", lambda x, b: torch.bucketize(x, b, out_int32=True), integers(3, 7), torch.tensor([-3, 0, 0, 4]))
case("gather_nothing", lambda x, i: x.gather(0, i), floats(5), torch.zeros(2, 0, dtype=torch.int64))
case("take", torch.take, floats(3, 4), integers(2, 3, low=-12, high=12))
case("put", lambda x, i, v: x.put(i, v), floats(3, 4), torch.tensor([1, -1, 5]), floats(3))
case("put_add", lambda x, i, v: x.put(i, v, accumulate=True), floats(3, 4), torch.tensor([1, 1, -11]), floats(3))
case("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), floats(3, 4), booleans(3, 4), floats(13))
case("masked_scatter_backward", lambda g, m: aten.masked_scatter_backward(g, m, [13]), floats(3, 4), booleans(3, 4))
case("nonzero_static", lambda x: torch.nonzero_static(x, size=9, fill_value=7), integers(3, 4, low=-1, high=2))
case("nonzero_static_cut", lambda x: torch.nonzero_static(x, size=2), booleans(3, 4))
case("masked_index", lambda x, m, i: aten._unsafe_masked_index(x, m, [i, None], 7.0), floats(4, 3),
     torch.tensor([True, False, True])[:, None], torch.tensor([3, 99, 0]))
case("masked_index_put", lambda x, m, i, v: aten._unsafe_masked_index_put_accumulate(x, m, [i], v), floats(4),
     torch.tensor([True, False, True]), torch.tensor([3, 99, 3]), floats(3))
for name in ("sum", "prod", "mean", "amax", "amin"):
    for include in (True, False):
        case(f"scatter_reduce_{name}_{include}",
             lambda x, i, v, n=name, s=include: x.scatter_reduce(0, i, v, n, include_self=s),
             floats(4, 3), integers(5, 3, low=0, high=4), floats(5, 3))
        if name != "sum":
            case(f"index_reduce_{name}_{include}",
                 lambda x, i, v, n=name, s=include: x.index_reduce(0, i, v, n, include_self=s),
                 floats(4, 3), integers(5, low=0, high=4), floats(5, 3))
for name, function in {
        "scatter": lambda x, i, v: x.scatter(0, i, v), "scatter_add": lambda x, i, v: x.scatter_add(0, i, v),
        "index_add": lambda x, i, v: x.index_add(0, i, v), "index_copy": lambda x, i, v: x.index_copy(0, i, v),
        "index_fill": lambda x, i, v: x.index_fill(0, i, 3.0)}.items():
    case(f"{name}_scalar", function, floats(), torch.tensor(0), floats())
case("linspace_tensors", lambda a, b: torch.linspace(a, b, 5), floats(), floats(low=4))
case("logspace", lambda x: x + torch.logspace(-2, 3, 5, dtype=x.dtype), floats(5))

# ---- Special functions ---------------------------------------------------------------------------------

AWAY, POSITIVE = floats(40, low=-9.0, high=9.0), floats(40, low=0.01, high=30.0)
DEGREES = torch.tensor([-1.0, 0, 1, 2, 6, 7.5, 9, 40])
for name in (*(f"{kind}chebyshev_polynomial_{letter}" for kind in ("", "shifted_") for letter in "tuvw"), "hermite_polynomial_h",
             "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
    case(name, getattr(torch.special, name), torch.tensor([[NAN], [0], [1], [-1], [0.3], [-0.7], [1.25]]).double(), DEGREES.double())
    case(f"{name}_number", lambda x, f=getattr(torch.special, name): f(x, 5), floats(5), narrow=False)
case("zeta", torch.special.zeta, torch.tensor([[1.0], [0], [2], [3.5], [70], [INF], [NAN]]).double(),
     torch.tensor([-0.5, -3, -12.25, 0, 1e-30, 0.1, 4, 1e6, INF, NAN]).double())
case("zeta_number", lambda x: torch.special.zeta(x, 2), floats(5), narrow=False)
for name in ("erfc", "erfcx", "log_ndtr", "i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "spherical_bessel_j0",
             "gammaln", "digamma"):
    case(name, getattr(torch.special, name), AWAY, narrow=False)
    case(f"{name}_special", getattr(torch.special, name), SPECIAL, narrow=False)
for name in ("bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
             "scaled_modified_bessel_k1", "entr"):
    case(name, getattr(torch.special, name), POSITIVE, narrow=False)
    case(f"{name}_special", getattr(torch.special, name), SPECIAL, narrow=False)
case("erfc_tail", torch.erfc, floats(40, low=-4.0, high=13.0), exact=True)
case("lgamma_zeros", torch.lgamma, torch.tensor([1, 2, 1 - 2.0**-20, 1 + 2.0**-20, 2 - 2.0**-20, 2 + 2.0**-20]), narrow=False)
case("div_by_less_than_f32_holds", lambda x: torch.div(x, 1e-46, rounding_mode="floor"), torch.tensor([1.5, -2, 0, 1e-40]))
case("lgamma_poles", torch.lgamma, torch.tensor([-1.0, -2, -7, -1e9, -1e30, 1e-40, -1e-40, 3e38, -3e38]))
case("lgamma_below", torch.lgamma, floats(40, low=-20.0, high=0.0), exact=True)
case("lgamma_int", torch.lgamma, integers(9, low=-3, high=9))
case("erfinv", torch.erfinv, torch.tensor([-1.0, -0.999, -0.7, -0.3, 0, 0.5, 0.71, 0.9999, 1, 1.5, NAN]), narrow=False)
case("ndtri", torch.special.ndtri, torch.tensor([0, 1e-30, 1e-6, 0.1, 0.4, 0.5, 0.9, 1 - 1e-5, 1, 2, NAN]), narrow=False)
case("xlog1py", torch.special.xlog1py, SPECIAL, MIRRORED, narrow=False)
case("mvlgamma", lambda x: torch.mvlgamma(x, 3), POSITIVE + 1)
for order in range(5):
    case(f"polygamma_{order}", lambda x, n=order: torch.polygamma(n, x), POSITIVE, narrow=False)
    case(f"polygamma_{order}_below", lambda x, n=order: torch.polygamma(n, x),
         torch.tensor([-0.3, -2.7, -7.4, -1.5]), narrow=False)
