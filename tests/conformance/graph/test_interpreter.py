"""The reference interpreter against PyTorch: every op over random shapes, NaN and infinities."""

import itertools
import pathlib
import random
import struct
import subprocess

import pytest
import torch
import torch.nn.functional as F

BINARY = pathlib.Path(__file__).parents[3] / "build/dev/bin/interpret_graph"
DTYPES = [("f64", torch.float64), ("f32", torch.float32), ("f16", torch.float16),
          ("bf16", torch.bfloat16), ("i64", torch.int64), ("i32", torch.int32),
          ("i16", torch.int16), ("i8", torch.int8), ("u8", torch.uint8), ("bool", torch.bool)]
NAMES = {dtype: name for name, dtype in DTYPES}
CODES = {dtype: code for code, (_, dtype) in enumerate(DTYPES)}
SHAPES = [(), (1,), (0,), (7,), (3, 5), (1, 4), (2, 0, 3), (2, 3, 4), (2, 1, 3, 2)]
F64 = torch.float64


def type_text(dtype, shape):
    return f"{NAMES[dtype]}[{','.join(map(str, shape))}]"


def type_of(tensor):
    return type_text(tensor.dtype, tensor.shape)


def raw_bytes(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


class Interpreter:
    def __init__(self):
        self.process = subprocess.Popen([BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, text, inputs):
        """The outputs as float64 or int64 tensors."""
        def block(data):
            return struct.pack("<Q", len(data)) + data

        request = block(text.encode()) + struct.pack("<Q", len(inputs))
        for tensor in inputs:
            request += struct.pack(f"<BB{tensor.dim()}q", CODES[tensor.dtype], tensor.dim(),
                                   *tensor.shape)
            request += block(raw_bytes(tensor))
        self.process.stdin.write(block(request))
        self.process.stdin.flush()
        size, = struct.unpack("<Q", self.process.stdout.read(8))
        reply = self.process.stdout.read(size)
        assert reply[0] == 1, f"{reply[9:].decode()}\n{text}"
        count, = struct.unpack_from("<Q", reply, 1)
        outputs, at = [], 9
        for _ in range(count):
            code, rank = struct.unpack_from("<BB", reply, at)
            shape = struct.unpack_from(f"<{rank}q", reply, at + 2)
            at += 2 + 8 * rank
            dtype = DTYPES[code][1]
            held = F64 if dtype.is_floating_point else torch.int64
            elements = torch.Size(shape).numel()
            if elements == 0:
                outputs.append(torch.empty(shape, dtype=held))
            else:
                outputs.append(torch.frombuffer(bytearray(reply[at:at + 8 * elements]),
                                                dtype=held).reshape(shape))
            at += 8 * elements
        assert at == len(reply)
        return outputs

    def op(self, op, inputs, results, attributes=""):
        """The results of one op; `results` are their types as text."""
        operands = [f"%{i}" for i in range(len(inputs))]
        names = ", ".join(f"%r{i}" for i in range(len(results)))
        signature = ", ".join(f"{name}: {type_of(x)}" for name, x in zip(operands, inputs))
        braces = f" {{{attributes}}}" if attributes else ""
        return self.run(
            f"graph @g({signature}) {{\n {names} = {op}({', '.join(operands)}){braces}"
            f" : {', '.join(results)}\n return {names}\n}}", inputs)

    def check(self, op, inputs, expected, attributes="", tolerance=1e-12):
        """The op gives the tensor, or the tensors, that PyTorch gives."""
        expected = expected if isinstance(expected, (list, tuple)) else [expected]
        results = self.op(op, inputs, [type_of(e) for e in expected], attributes)
        for result, wanted in zip(results, expected):
            wanted = wanted.to(F64 if wanted.dtype.is_floating_point else torch.int64)
            torch.testing.assert_close(result, wanted, rtol=tolerance, atol=tolerance,
                                       equal_nan=True)


@pytest.fixture(scope="module")
def interpreter():
    assert BINARY.exists(), f"{BINARY} is not built."
    service = Interpreter()
    yield service
    service.process.stdin.close()
    assert service.process.wait(10) == 0


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)
    random.seed(1)


def floats(shape, special=True):
    x = torch.randn(shape, dtype=F64) * 2
    if special and x.numel() > 4:
        flat = x.view(-1)
        flat[0], flat[1], flat[2], flat[3] = float("nan"), float("inf"), -float("inf"), -0.0
        x = flat[torch.randperm(x.numel())].reshape(shape)
    return x


def integers(shape, dtype, low=None, high=None):
    limits = torch.iinfo(dtype)
    return torch.randint(max(limits.min, -50) if low is None else low,
                         min(limits.max, 51) if high is None else high, shape, dtype=dtype)


def ints(values):
    return "[" + ",".join(map(str, values)) + "]"


UNARY = {
    "abs": torch.abs, "negate": torch.neg, "exponential": torch.exp, "exponential2": torch.exp2,
    "exponential_minus_one": torch.expm1, "log": torch.log, "log2": torch.log2,
    "log_plus_one": torch.log1p, "logistic": torch.sigmoid, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "sine": torch.sin, "cosine": torch.cos, "tan": torch.tan,
    "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "sinh": torch.sinh,
    "cosh": torch.cosh, "tanh": torch.tanh, "erf": torch.erf,
    "erfc": torch.erfc, "log_gamma": torch.lgamma, "floor": torch.floor,
    "ceil": torch.ceil, "trunc": torch.trunc, "round_nearest_even": torch.round,
    "is_finite": torch.isfinite, "is_nan": torch.isnan,
}
FLOAT_BINARY = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div,
    "remainder": torch.fmod, "maximum": torch.maximum, "minimum": torch.minimum,
    "power": torch.pow, "atan2": torch.atan2,
}
INT_BINARY = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "maximum": torch.maximum,
    "minimum": torch.minimum, "and": torch.bitwise_and, "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "remainder": torch.fmod,
}
COMPARE = {"EQ": torch.eq, "NE": torch.ne, "LT": torch.lt, "LE": torch.le, "GT": torch.gt,
           "GE": torch.ge}
INT_DTYPES = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("op", UNARY)
def test_float_unary(interpreter, op):
    for shape in SHAPES:
        x = floats(shape)
        interpreter.check(op, [x], UNARY[op](x))


def test_sign(interpreter):
    for shape in SHAPES:
        x = floats(shape).nan_to_num()  # The sign of NaN is NaN here, 0 in PyTorch.
        interpreter.check("sign", [x], torch.sign(x))


@pytest.mark.parametrize("op", FLOAT_BINARY)
def test_float_binary(interpreter, op):
    for shape in SHAPES:
        a, b = floats(shape), floats(shape)
        interpreter.check(op, [a, b], FLOAT_BINARY[op](a, b))


@pytest.mark.parametrize("op", INT_BINARY)
@pytest.mark.parametrize("dtype", INT_DTYPES)
def test_integer_binary(interpreter, op, dtype):
    for shape in SHAPES:
        a, b = integers(shape, dtype), integers(shape, dtype)
        if op in ("divide", "remainder"):
            b = torch.where(b == 0, torch.ones_like(b), b)
        interpreter.check(op, [a, b], INT_BINARY[op](a, b))


@pytest.mark.parametrize("dtype", INT_DTYPES)
def test_integer_power_and_shifts(interpreter, dtype):
    bits = torch.iinfo(dtype).bits
    for shape in SHAPES:
        x, n = integers(shape, dtype), integers(shape, dtype, 0, bits)
        interpreter.check("power", [x, n], torch.pow(x, n))
        interpreter.check("shift_left", [x, n], torch.bitwise_left_shift(x, n))
        interpreter.check("shift_right_arithmetic", [x, n], torch.bitwise_right_shift(x, n))
        interpreter.check("not", [x], torch.bitwise_not(x))
        if bits < 64:
            logical = (x.long() & (2**bits - 1)) >> n.long()
            interpreter.check("shift_right_logical", [x, n], logical.to(dtype))


@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_bool_binary(interpreter, op):
    a, b = torch.rand(4, 5) < 0.5, torch.rand(4, 5) < 0.5
    interpreter.check(op, [a, b], getattr(torch, f"logical_{op}")(a, b))
    interpreter.check("not", [a], ~a)
    interpreter.check("require", [a], a, 'message="it holds"')


@pytest.mark.parametrize("direction", COMPARE)
def test_compare_select_clamp(interpreter, direction):
    for shape in SHAPES:
        a, b = floats(shape), floats(shape)
        b = torch.where(torch.rand(shape) < 0.3, a, b)
        pred = COMPARE[direction](a, b)
        interpreter.check("compare", [a, b], pred, f'direction="{direction}"')
        interpreter.check("select", [pred, a, b], torch.where(pred, a, b))
        low, high = -torch.rand(shape, dtype=F64), torch.rand(shape, dtype=F64)
        interpreter.check("clamp", [low, a, high], torch.clamp(a, low, high))
        i, j = integers(shape, torch.uint8), integers(shape, torch.uint8)
        interpreter.check("compare", [i, j], COMPARE[direction](i, j), f'direction="{direction}"')


@pytest.mark.parametrize("source, target", list(itertools.permutations(CODES, 2)))
def test_convert(interpreter, source, target):
    # Small halves: every float dtype holds them, so that no rounding is involved.
    x = (torch.randint(0, 100, (3, 4)) / 2).to(source)
    interpreter.check("convert", [x], x.to(target))


def test_bitcast(interpreter):
    for source, target in [(torch.float32, torch.int32), (torch.int64, F64),
                           (torch.bfloat16, torch.int16), (torch.int16, torch.float16),
                           (torch.uint8, torch.int8)]:
        x = torch.randn(17).mul(20).abs().to(source)
        interpreter.check("bitcast_convert", [x], x.view(target))


def test_shape_ops(interpreter):
    for shape in [(1,), (7,), (3, 5), (1, 4), (2, 0, 3), (2, 3, 4), (2, 1, 3, 2)]:
        x = floats(shape)
        rank = len(shape)
        order = random.sample(range(rank), rank)
        interpreter.check("transpose", [x], x.permute(order), f"dims={ints(order)}")
        interpreter.check("reshape", [x], x.reshape(x.numel()))
        flipped = random.sample(range(rank), random.randint(0, rank))
        interpreter.check("reverse", [x], x.flip(flipped), f"dims={ints(flipped)}")
        wide = x.expand([s if s != 1 else 3 for s in shape]).expand(2, *[
            s if s != 1 else 3 for s in shape])
        interpreter.check("broadcast_in_dim", [x], wide, f"dims={ints(range(1, rank + 1))}")

        start = [random.randint(0, s) for s in shape]
        limit = [random.randint(a, s) for a, s in zip(start, shape)]
        stride = [random.randint(1, 3) for _ in shape]
        cut = x[tuple(slice(*bounds) for bounds in zip(start, limit, stride))]
        interpreter.check("slice", [x], cut,
                          f"start={ints(start)}, limit={ints(limit)}, stride={ints(stride)}")

        low = [random.randint(-s // 2, 2) for s in shape]
        high = [random.randint(0, 2) for _ in shape]
        padding = [p for pair in reversed(list(zip(low, high))) for p in pair]
        value = torch.tensor(9.0, dtype=F64)
        interpreter.check("pad", [x, value], F.pad(x, padding, value=9.0),
                          f"low={ints(low)}, high={ints(high)}, interior={ints([0] * rank)}")

        dim = random.randrange(rank)
        interpreter.check("concatenate", [x, x.flip(dim), x], torch.cat([x, x.flip(dim), x], dim),
                          f"dim={dim}")
        positions = torch.arange(shape[dim]).reshape(
            [-1 if i == dim else 1 for i in range(rank)]).expand(shape)
        interpreter.check("iota", [], positions.contiguous(), f"dim={dim}")


@pytest.mark.parametrize("kind", ["add", "multiply", "maximum", "minimum"])
def test_reduce(interpreter, kind):
    reduce = {"add": torch.sum, "multiply": torch.prod, "maximum": torch.amax,
              "minimum": torch.amin}[kind]
    for shape, special in itertools.product([(1,), (7,), (3, 5), (2, 3, 4), (2, 1, 3, 2)],
                                            [False, True]):
        x = floats(shape, special)
        for count in range(1, len(shape) + 1):
            dims = random.sample(range(len(shape)), count)
            if kind == "multiply":
                expected = x
                for dim in sorted(dims, reverse=True):
                    expected = reduce(expected, dim)
            else:
                expected = reduce(x, dims)
            interpreter.check("reduce", [x], expected, f'dims={ints(dims)}, kind="{kind}"')
    b = torch.rand(3, 4) < 0.7
    interpreter.check("reduce", [b], b.all(1), 'dims=[1], kind="and"')
    interpreter.check("reduce", [b], b.any(0), 'dims=[0], kind="or"')


def test_arg_reduce_and_cumulative(interpreter):
    for shape in [(1,), (7,), (3, 5), (2, 3, 4)]:
        for dim, x in itertools.product(range(len(shape)), [floats(shape), floats(shape, False)]):
            interpreter.check("arg_reduce", [x], x.argmax(dim), f'dim={dim}, kind="maximum"')
            interpreter.check("arg_reduce", [x], x.argmin(dim), f'dim={dim}, kind="minimum"')
            for kind, scan in [("add", torch.cumsum), ("multiply", torch.cumprod), ("log_add_exp", torch.logcumsumexp),
                               ("maximum", lambda t, d: t.cummax(d).values),
                               ("minimum", lambda t, d: t.cummin(d).values)]:
                attributes = f'dim={dim}, kind="{kind}", exclusive=false, reverse='
                interpreter.check("cumulative", [x], scan(x, dim), attributes + "false")
                interpreter.check("cumulative", [x], scan(x.flip(dim), dim).flip(dim),
                                  attributes + "true")


def test_reduce_window(interpreter):
    for _ in range(30):
        window = [random.randint(1, 3) for _ in range(2)]
        stride = [random.randint(1, 3) for _ in range(2)]
        pad = [random.randint(0, w // 2) for w in window]
        dilation = [random.randint(1, 2) for _ in range(2)]
        x = floats((2, 3, random.randint(6, 9), random.randint(6, 9)))

        def attributes(kind, dilated):
            return (f'kind="{kind}", window={ints([1, 1] + window)}, '
                    f"strides={ints([1, 1] + stride)}, pad_low={ints([0, 0] + pad)}, "
                    f"pad_high={ints([0, 0] + pad)}, dilation={ints([1, 1] + dilated)}")

        interpreter.check("reduce_window", [x],
                          F.max_pool2d(x, window, stride, pad, dilation),
                          attributes("maximum", dilation))
        finite = x.nan_to_num(posinf=1, neginf=2)
        interpreter.check("reduce_window", [finite],
                          F.avg_pool2d(finite, window, stride, pad, divisor_override=1),
                          attributes("add", [1, 1]))


def test_dot_general(interpreter):
    for _ in range(40):
        sizes = {label: random.randint(1, 4) for label in "abcdmnpq"}
        batch = random.sample("ab", random.randint(0, 2))
        contract = random.sample("cd", random.randint(0, 2))
        lhs_free = random.sample("mn", random.randint(0, 2))
        rhs_free = random.sample("pq", random.randint(0, 2))
        lhs = random.sample(batch + contract + lhs_free, len(batch + contract + lhs_free))
        rhs = random.sample(batch + contract + rhs_free, len(batch + contract + rhs_free))
        a = torch.randn([sizes[label] for label in lhs], dtype=F64)
        b = torch.randn([sizes[label] for label in rhs], dtype=F64)
        out = batch + [l for l in lhs if l in lhs_free] + [r for r in rhs if r in rhs_free]
        expected = torch.einsum(f"{''.join(lhs)},{''.join(rhs)}->{''.join(out)}", a, b)
        interpreter.check(
            "dot_general", [a, b], expected,
            f"lhs_batch={ints(map(lhs.index, batch))}, rhs_batch={ints(map(rhs.index, batch))}, "
            f"lhs_contract={ints(map(lhs.index, contract))}, "
            f"rhs_contract={ints(map(rhs.index, contract))}")


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_convolution(interpreter, spatial):
    convolve = [F.conv1d, F.conv2d, F.conv3d][spatial - 1]
    transposed = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][spatial - 1]
    for _ in range(25):
        groups, per_group, filters = (random.randint(1, 3) for _ in range(3))
        size = [random.randint(4, 7) for _ in range(spatial)]
        window = [random.randint(1, 3) for _ in range(spatial)]
        stride = [random.randint(1, 3) for _ in range(spatial)]
        pad = [random.randint(0, 2) for _ in range(spatial)]
        dilation = [random.randint(1, 2) for _ in range(spatial)]
        dilation = [d if (w - 1) * d < s else 1 for d, w, s in zip(dilation, window, size)]
        ones = [1] * spatial
        x = torch.randn([2, groups * per_group] + size, dtype=F64)
        w = torch.randn([groups * filters, per_group] + window, dtype=F64)
        interpreter.check(
            "convolution", [x, w], convolve(x, w, None, stride, pad, dilation, groups),
            f"strides={ints(stride)}, pad_low={ints(pad)}, pad_high={ints(pad)}, "
            f"dilation={ints(dilation)}, lhs_dilation={ints(ones)}, groups={groups}",
            tolerance=1e-11)

        # A transposed convolution dilates its input by the stride and flips the window.
        wt = torch.randn([groups * per_group, filters] + window, dtype=F64)
        output_pad = [random.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation)]
        expected = transposed(x, wt, None, stride, pad, output_pad, groups, dilation)
        if min(expected.shape) == 0:
            continue
        flipped = wt.flip(list(range(2, spatial + 2))).reshape(
            [groups, per_group, filters] + window).transpose(1, 2).reshape(
                [groups * filters, per_group] + window)
        low = [d * (k - 1) - p for d, k, p in zip(dilation, window, pad)]
        high = [l + o for l, o in zip(low, output_pad)]
        interpreter.check(
            "convolution", [x, flipped], expected,
            f"strides={ints(ones)}, pad_low={ints(low)}, pad_high={ints(high)}, "
            f"dilation={ints(dilation)}, lhs_dilation={ints(stride)}, groups={groups}",
            tolerance=1e-11)


def test_attention(interpreter):
    for _ in range(40):
        batch, kv_heads, repeat = (random.randint(1, 3) for _ in range(3))
        queries, keys, depth, width = (random.randint(1, 6) for _ in range(4))
        heads = kv_heads * repeat
        q = torch.randn(batch, heads, queries, depth, dtype=F64)
        k = torch.randn(batch, kv_heads, keys, depth, dtype=F64)
        v = torch.randn(batch, kv_heads, keys, width, dtype=F64)
        scale = random.choice([0.125, 1.0, 0.3])
        full = [k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)]
        for causal in [False, True]:
            expected = F.scaled_dot_product_attention(q, *full, is_causal=causal, scale=scale)
            interpreter.check("attention", [q, k, v], expected,
                              f"scale={scale}, causal={str(causal).lower()}")
        shape = [random.choice([1, n]) for n in (batch, heads, queries, keys)]
        keep = torch.rand(shape) < 0.7
        keep[..., 0] = True  # PyTorch gives a row with nothing kept as NaN or as 0.
        for mask in [keep, torch.randn(shape, dtype=F64)]:
            expected = F.scaled_dot_product_attention(
                q, *full, attn_mask=mask.expand(batch, heads, queries, keys), scale=scale)
            interpreter.check("attention", [q, k, v, mask], expected,
                              f"scale={scale}, causal=false")


def test_gather_rows_and_points(interpreter):
    for _ in range(20):
        rows, width = random.randint(1, 6), random.randint(1, 4)
        x = floats((rows, width))
        index = torch.randint(0, rows, (2, random.randint(0, 5)),
                              dtype=random.choice([torch.int64, torch.int32]))
        interpreter.check("gather", [x, index], F.embedding(index.long(), x),
                          "offset_dims=[2], collapsed_dims=[0], start_index_map=[0], "
                          f"index_vector_dim=2, slice_sizes=[1,{width}]")
        # Along dim 1, the window first: x[:, index].
        columns = torch.randint(0, width, (3,))
        interpreter.check("gather", [x, columns], x[:, columns],
                          "offset_dims=[0], collapsed_dims=[1], start_index_map=[1], "
                          f"index_vector_dim=1, slice_sizes=[{rows},1]")
        i, j = torch.randint(0, rows, (4,)), torch.randint(0, width, (4,))
        interpreter.check("gather", [x, torch.stack([i, j])], x[i, j],
                          "offset_dims=[], collapsed_dims=[0,1], start_index_map=[0,1], "
                          "index_vector_dim=0, slice_sizes=[1,1]")


@pytest.mark.parametrize("kind, reduce", [("add", "sum"), ("multiply", "prod"),
                                          ("maximum", "amax"), ("minimum", "amin")])
def test_scatter(interpreter, kind, reduce):
    for _ in range(15):
        rows, width, count = random.randint(1, 6), random.randint(1, 4), random.randint(0, 6)
        x, updates = torch.randn(rows, width, dtype=F64), torch.randn(count, width, dtype=F64)
        index = torch.randint(0, rows, (count,))
        expected = x.scatter_reduce(0, index[:, None].expand(count, width), updates, reduce)
        interpreter.check("scatter", [x, index, updates], expected,
                          f'kind="{kind}", update_window_dims=[1], inserted_window_dims=[0], '
                          "scatter_dims=[0], index_vector_dim=1")
        unique = torch.randperm(rows)[:min(rows, count)]
        assigned = x.clone()
        assigned[unique] = updates[:len(unique)]
        interpreter.check("scatter", [x, unique, updates[:len(unique)]], assigned,
                          'kind="assign", update_window_dims=[1], inserted_window_dims=[0], '
                          "scatter_dims=[0], index_vector_dim=1")


def test_dynamic_slices(interpreter):
    for _ in range(20):
        shape = [random.randint(1, 5) for _ in range(2)]
        sizes = [random.randint(0, s) for s in shape]
        x, update = floats(shape), floats(sizes)
        starts = [random.randint(0, s - n) for s, n in zip(shape, sizes)]
        window = tuple(slice(a, a + n) for a, n in zip(starts, sizes))
        operands = [torch.tensor(a) for a in starts]
        interpreter.check("dynamic_slice", [x] + operands, x[window], f"slice_sizes={ints(sizes)}")
        updated = x.clone()
        updated[window] = update
        interpreter.check("dynamic_update_slice", [x, update] + operands, updated)


def test_sort_and_top_k(interpreter):
    for shape in [(1,), (7,), (3, 5), (2, 3, 4)]:
        for dim, descending in itertools.product(range(len(shape)), [False, True]):
            for x in [floats(shape), integers(shape, torch.int8, -3, 4)]:
                values, order = torch.sort(x, dim=dim, descending=descending, stable=True)
                positions = torch.arange(shape[dim]).reshape(
                    [-1 if i == dim else 1 for i in range(len(shape))]).expand(shape)
                interpreter.check("sort", [x, positions], [values, order],
                                  f"dim={dim}, descending={str(descending).lower()}")
        x = floats(shape)
        k = random.randint(0, shape[-1])
        for largest in [False, True]:
            interpreter.check("top_k", [x], list(torch.topk(x, k, -1, largest)),
                              f"k={k}, largest={str(largest).lower()}")


def test_loops_of_graphs(interpreter):
    for trips in range(4):
        x, y = floats([3]), floats([3])
        of = f"(%0: {type_of(x)}, %1: i64[], %2: {type_of(y)})"
        expected = x
        for _ in range(trips):
            expected = expected * y
        interpreter.check("while", [x, torch.tensor(trips), y], [expected, torch.tensor(0)], (
            f"condition=graph @c{of} {{ %3 = constant() value(0) : i64[]\n"
            '%4 = compare(%1, %3) {direction="GT"} : bool[] return %4 }, '
            f"body=graph @b{of} {{ %3 = multiply(%0, %2) : {type_of(x)}\n%4 = constant() value(1) : i64[]\n"
            "%5 = subtract(%1, %4) : i64[] return %3, %5 }"))
        rows = floats([trips, 3])
        sums = torch.cat([x[None], rows]).cumsum(0)
        interpreter.check("scan", [x, rows], [sums[-1], sums[:-1]], (
            f"body=graph @b(%0: {type_of(x)}, %1: {type_of(x)}) {{ %2 = add(%0, %1) : {type_of(x)} return %2, %0 }}, "
            "carried=1, scanned=1"))


def philox_words(key, counter):
    """Philox 4x32-10 by numbers of any size, where PyTorch has no name for it: Salmon et al., SC 2011."""
    low = 0xFFFFFFFF
    a, b, c, d = (counter >> shift & low for shift in (0, 32, 64, 96))
    k, l = key & low, key >> 32 & low
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = second >> 32 ^ b ^ k, second & low, first >> 32 ^ d ^ l, first & low
        k, l = (k + 0x9E3779B9) & low, (l + 0xBB67AE85) & low
    return [a, b, c, d]


def signed(value, bits=64):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


@pytest.mark.parametrize("shape", SHAPES)
def test_random_bits(interpreter, shape):
    unsigned, count = (1 << 64) - 1, torch.Size(shape).numel()
    for numbers in [(5, 7), (-3, -1), (1 << 40, unsigned >> 1), (9, -1, 0), (-1, -2, -1)]:
        key, counter = numbers[0] & unsigned, sum((part & unsigned) << 64 * place for place, part in enumerate(numbers[1:]))
        wraps = 1 << 64 * (len(numbers) - 1)
        for dtype, words in [(torch.int32, 1), (torch.int64, 2)]:
            blocks = -(-count * words // 4)
            drawn = [word for block in range(blocks) for word in philox_words(key, (counter + block) % wraps)]
            bits = [signed(sum(word << 32 * at for at, word in enumerate(drawn[place:place + words])), 32 * words)
                    for place in range(0, count * words, words)]
            after = (counter + blocks) % wraps
            state = [numbers[0], *(signed(after >> 64 * place) for place in range(len(numbers) - 1))]
            interpreter.check(
                "rng_bit_generator", [torch.tensor(numbers)],
                [torch.tensor(state), torch.tensor(bits, dtype=dtype).reshape(shape)], 'algorithm="PHILOX"')


def test_every_op_is_covered():
    listed = (pathlib.Path(__file__).parents[3] / "protocol/graph/op_kind.def").read_text()
    ops = {line.split('"')[1] for line in listed.splitlines() if line.startswith("STOKER_OP")}
    source = pathlib.Path(__file__).read_text().split("def test_every_op_is_covered")[0]
    missing = {op for op in ops if f'"{op}"' not in source}
    assert missing == {"constant", "extern_call"}  # There is nothing to compare.
