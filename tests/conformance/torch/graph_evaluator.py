"""Evaluates a graph's text (protocol/graph/OPS.md) in float64: what the tests of the mapping compare
PyTorch with. Floats are float64 tensors whatever their dtype says, integers int64 wrapped to their width.
"""

import itertools
import math
import re

import torch

from stoker.graph.dims import at
from stoker.graph.host_call import HostCall, View
from stoker.graph.program import filled
from stoker.pytorch.operators import overload_of

TORCH_DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
    "u8": torch.uint8, "bool": torch.bool}
FLOATS = ("f64", "f32", "f16", "bf16")

_NODE = re.compile(r"\s*(?P<results>%\S+(?:, %\S+)*) = (?P<op>\w+)\((?P<operands>[^)]*)\)(?P<rest>.*) : "
                   r"(?P<types>\w+\[[^\]]*\](?:, \w+\[[^\]]*\])*)$", re.DOTALL)
_TYPE = re.compile(r"(\w+)\[([^\]]*)\]")
_ATTRIBUTE = re.compile(r"(\w+)=(\[[^\]]*\]|\"(?:[^\"\\]|\\.)*\"|[^,}\s]+)")


def _seen(operand, order):
    """As the operator of a host call sees it."""
    if isinstance(order, View):
        return operand.contiguous().as_strided(*order)
    return operand.permute(_places(order, operand.dim()))


def _places(order, rank):
    return [order.index(dim) for dim in range(rank)] if order else list(range(rank))


def parse_types(text):
    return [
        (dtype, tuple(int(size) for size in sizes.split(",") if size))
        for dtype, sizes in _TYPE.findall(text)]


def _attribute(text):
    if text.startswith("["):
        return [int(item) for item in text[1:-1].split(",") if item]
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


def widen(tensor):
    """A tensor in the dtype that this evaluator computes in."""
    if tensor.is_floating_point():
        return tensor.double()
    return tensor if tensor.dtype == torch.bool else tensor.long()


def wrap(tensor, dtype):
    """Integers as if computed in `dtype`."""
    if dtype in FLOATS or dtype in ("bool", "i64"):
        return tensor
    return tensor.to(TORCH_DTYPES[dtype]).long()


def _whole_nodes(lines):
    """With the lines of a graph that is an attribute."""
    whole, depth = [], 0
    for line in lines:
        whole.append(line)
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            yield "\n".join(whole)
            whole = []


def evaluate(text, inputs, round_to_dtype=False):
    """The outputs, in their dtypes, of a graph for tensors in the order of its inputs."""
    lines = text.strip().splitlines()
    heads = re.findall(r"(%\S+): (?:parameter )?(\w+\[[^\]]*\])", lines[0])
    assert len(heads) == len(inputs), (heads, len(inputs))
    values, dtypes = {}, {}
    for (name, head), tensor in zip(heads, inputs):
        (dtype, shape), = parse_types(head)
        assert TORCH_DTYPES[dtype] == tensor.dtype and shape == tuple(tensor.shape), (
            name, head, tensor.dtype, tensor.shape)
        values[name], dtypes[name] = widen(tensor), dtype
    for line in _whole_nodes(lines[1:]):
        if line.strip().startswith("return"):
            # "%5 updates %0": in whose memory it may be made.
            names = [name.split()[0] for name in line.strip()[len("return "):].split(",")]
            return [values[name].to(TORCH_DTYPES[dtypes[name]]) for name in names]
        if line.strip() == "}":
            break
        match = _NODE.match(line)
        assert match, f"not a node: {line!r}"
        operands = [name.strip() for name in match["operands"].split(",") if name.strip()]
        types = parse_types(match["types"])
        results = _Evaluator(
            [values[name] for name in operands], [dtypes[name] for name in operands], types,
            match["rest"]).run(match["op"])
        for name, (dtype, shape), result in zip(match["results"].split(", "), types, results):
            assert tuple(result.shape) == shape, (line, result.shape)
            result = wrap(result, dtype)
            if round_to_dtype and dtype in FLOATS:
                result = result.to(TORCH_DTYPES[dtype]).double()
            values[name], dtypes[name] = result, dtype
    raise AssertionError("The graph returns nothing.")


_UNARY = {
    "abs": torch.abs, "negate": torch.neg, "sign": torch.sign, "exponential": torch.exp,
    "exponential2": torch.exp2, "exponential_minus_one": torch.expm1, "log": torch.log,
    "log2": torch.log2, "log_plus_one": torch.log1p, "logistic": torch.sigmoid,
    "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "sine": torch.sin, "cosine": torch.cos,
    "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "erf": torch.erf,
    "erfc": torch.erfc, "log_gamma": torch.lgamma,
    "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "round_nearest_even": torch.round, "is_finite": torch.isfinite, "is_nan": torch.isnan,
    "not": torch.bitwise_not, "require": torch.clone}
_BINARY = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "remainder": torch.fmod,
    "maximum": torch.maximum, "minimum": torch.minimum, "atan2": torch.atan2,
    "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "shift_left": torch.bitwise_left_shift,
    "shift_right_arithmetic": torch.bitwise_right_shift}
_COMPARE = {"EQ": torch.eq, "NE": torch.ne, "LT": torch.lt, "LE": torch.le, "GT": torch.gt,
            "GE": torch.ge}
_FLOAT_ONLY = set(_UNARY) - {"abs", "negate", "sign", "not", "require"}


_WORD = 2**32 - 1


def _philox(counter, key):
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            second >> 32 ^ counter[1] ^ key[0], second & _WORD, first >> 32 ^ counter[3] ^ key[1], first & _WORD]
        key = [key[0] + 0x9E3779B9 & _WORD, key[1] + 0xBB67AE85 & _WORD]
    return counter


def _signed(number, bits):
    return (number + 2**(bits - 1)) % 2**bits - 2**(bits - 1)


class _Evaluator:
    """One node. Method names are op names."""

    def __init__(self, operands, dtypes, types, rest):
        self.operands = operands
        self.dtypes = dtypes
        self.types = types
        self.dtype, self.shape = types[0]
        self.rest = rest
        listed = rest[rest.find("{"):] if "{" in rest and "=graph @" not in rest else ""
        self.attributes = {name: _attribute(value) for name, value in _ATTRIBUTE.findall(listed)}

    def __getattr__(self, name):
        try:
            return self.attributes[name]
        except KeyError:
            raise AttributeError(name) from None

    def op_extern_call(self, *operands):
        call = HostCall.parse(self.target)
        given = [
            _seen(operand.to(TORCH_DTYPES[dtype]), order)
            for operand, dtype, order in zip(operands, self.dtypes, call.orders, strict=True)]
        sizes = [size for shape in [x.shape for x in operands] + [shape for _, shape in self.types] for size in shape]
        arguments = at(call.arguments, sizes)
        keywords = {name: at(value, sizes) for name, value in call.keywords.items()}
        found = overload_of(call.operator)(*filled(given, arguments), **filled(given, keywords))
        results = [found if place is None else found[place] for place, _ in call.results]
        return [
            widen(result.permute(order or list(range(result.dim()))))
            for result, (_, order) in zip(results, call.results)]

    def _graph(self, name):
        """The text of an attribute that is a graph."""
        start = self.rest.index(f"{name}=graph ") + len(name) + 1
        depth = 0
        for place, character in enumerate(self.rest[start:], start):
            depth += (character == "{") - (character == "}")
            if character == "}" and not depth:
                return self.rest[start:place + 1]

    def op_while(self, *operands):
        given = [operand.to(TORCH_DTYPES[dtype]) for operand, dtype in zip(operands, self.dtypes)]
        condition, body = self._graph("condition"), self._graph("body")
        while evaluate(condition, given)[0]:
            given[:len(self.types)] = evaluate(body, given)
        return [widen(each) for each in given[:len(self.types)]]

    def run(self, op):
        shapes = {tuple(x.shape) for x in self.operands}
        if op in _FLOAT_ONLY:
            assert self.dtypes[0] in FLOATS, f"{op} of {self.dtypes[0]}"
        if op in _UNARY:
            return [_UNARY[op](self.operands[0])]
        if op in _BINARY:
            assert len(shapes) == 1 and len(set(self.dtypes)) == 1, (op, shapes, self.dtypes)
            assert self.dtypes[0] != "bool" or op in ("and", "or", "xor"), op
            return [_BINARY[op](*self.operands)]
        results = getattr(self, f"op_{op}")(*self.operands)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    # ---- Nullary and pointwise ------------------------------------------------------------------

    def op_constant(self):
        if found := re.search(r'bytes\("([0-9a-f]*)"\)', self.rest):
            data = bytearray.fromhex(found[1])
            dtype = TORCH_DTYPES[self.dtype]
            tensor = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
            return widen(tensor.reshape(self.shape))
        listed = re.search(r"value\((.*)\)", self.rest)[1]
        items = [_attribute(item.strip()) for item in listed.strip("[]").split(",")]
        tensor = torch.tensor([float(x) for x in items], dtype=torch.float64)
        if self.dtype not in FLOATS:
            tensor = torch.tensor(items, dtype=torch.bool if self.dtype == "bool" else torch.int64)
        else:
            tensor = tensor.to(TORCH_DTYPES[self.dtype]).double()
        return tensor.reshape(self.shape) if listed.startswith("[") else tensor[0].expand(self.shape)

    def op_iota(self):
        size = self.shape[self.dim]
        shape = [1] * len(self.shape)
        shape[self.dim] = size
        return widen(torch.arange(size).to(TORCH_DTYPES[self.dtype])).reshape(shape).expand(
            self.shape)

    def op_divide(self, a, b):
        if self.dtype in FLOATS:
            return a / b
        zero = b == 0
        quotient = torch.div(a, torch.where(zero, 1, b), rounding_mode="trunc")
        return torch.where(zero, 255 if self.dtype == "u8" else -1, quotient)

    def op_power(self, a, b):
        if self.dtype in FLOATS:
            return torch.pow(a, b)
        result = torch.pow(a, b.clamp(min=0))
        inverse = torch.where(a == 1, 1, torch.where(a == -1, 1 - 2 * (b % 2), 0))
        return torch.where(b < 0, inverse, result)

    def op_shift_right_logical(self, x, amount):
        width = 8 * TORCH_DTYPES[self.dtype].itemsize
        kept = ~torch.bitwise_left_shift(torch.full_like(x, -1), width - amount.clamp(1, width))
        shifted = torch.bitwise_right_shift(x, amount) & kept
        return torch.where(amount == 0, x, torch.where(amount < width, shifted, 0))

    def op_compare(self, a, b):
        assert a.shape == b.shape and self.dtypes[0] == self.dtypes[1] != "bool"
        return _COMPARE[self.direction](a, b)

    def op_select(self, predicate, a, b):
        assert predicate.shape == a.shape == b.shape and self.dtypes[1] == self.dtypes[2]
        assert self.dtypes[0] == "bool"
        return torch.where(predicate, a, b)

    def op_convert(self, x):
        if self.dtype == "bool":
            return x != 0
        if self.dtype in FLOATS:
            return x.double().to(TORCH_DTYPES[self.dtype]).double()
        if self.dtypes[0] in FLOATS:
            limits = torch.iinfo(TORCH_DTYPES[self.dtype])
            x = torch.nan_to_num(x.trunc(), nan=0.0, posinf=2.0**63, neginf=-2.0**63)
            large, small = x >= limits.max, x <= limits.min
            inside = torch.where(large | small, 0.0, x).long()
            return torch.where(large, limits.max, torch.where(small, limits.min, inside))
        return x.long()

    def op_bitcast_convert(self, x):
        return widen(x.to(TORCH_DTYPES[self.dtypes[0]]).view(TORCH_DTYPES[self.dtype]))

    # ---- Shape ----------------------------------------------------------------------------------

    def op_broadcast_in_dim(self, x):
        assert list(self.dims) == sorted(set(self.dims)) and len(self.dims) == x.dim()
        shape = [1] * len(self.shape)
        for dim, size in zip(self.dims, x.shape):
            shape[dim] = size
        return x.reshape(shape).expand(self.shape)

    def op_reshape(self, x):
        return x.reshape(self.shape)

    def op_transpose(self, x):
        return x.permute(self.dims)

    def op_slice(self, x):
        for dim, (start, limit, stride) in enumerate(zip(self.start, self.limit, self.stride)):
            assert 0 <= start <= limit <= x.shape[dim] and stride > 0, (start, limit, x.shape)
        return x[tuple(map(slice, self.start, self.limit, self.stride))]

    def op_reverse(self, x):
        return x.flip(self.dims)

    def op_pad(self, x, value):
        assert value.dim() == 0 and self.dtypes[0] == self.dtypes[1]
        for dim in range(x.dim()):
            size, between = x.shape[dim], self.interior[dim]
            shape = list(x.shape)
            shape[dim] = max(0, size + max(0, size - 1) * between)
            spread = value.expand(shape).clone()
            index = [slice(None)] * x.dim()
            index[dim] = slice(0, None, between + 1)
            spread[tuple(index)] = x
            x = spread
            for count, front in ((self.low[dim], True), (self.high[dim], False)):
                if count >= 0:
                    shape[dim] = count
                    parts = [value.expand(shape), x]
                    x = torch.cat(parts if front else parts[::-1], dim)
                else:
                    x = x.narrow(dim, -count if front else 0, x.shape[dim] + count)
        return x

    def op_concatenate(self, *xs):
        assert len(set(self.dtypes)) == 1
        return torch.cat(xs, self.dim)

    # ---- Reductions -----------------------------------------------------------------------------

    def op_reduce(self, x):
        assert self.dtype == "bool" or self.kind in ("add", "multiply", "maximum", "minimum")
        kept = [dim for dim in range(x.dim()) if dim not in self.dims]
        count = math.prod(x.shape[dim] for dim in self.dims)
        flat = x.permute(*kept, *self.dims).reshape(*self.shape, count)
        return self._fold(flat)

    def _identity(self, kind):
        if kind in ("add", "or"):
            return 0
        if kind in ("multiply", "and"):
            return 1
        if self.dtype in FLOATS:
            return float("-inf" if kind == "maximum" else "inf")
        limits = torch.iinfo(TORCH_DTYPES[self.dtype])
        return limits.min if kind == "maximum" else limits.max

    def _fold(self, flat):
        """Reduces the last dim."""
        if flat.shape[-1] == 0:
            return torch.full(flat.shape[:-1], self._identity(self.kind), dtype=flat.dtype)
        return {"add": lambda: flat.sum(-1), "multiply": lambda: flat.prod(-1),
                "maximum": lambda: flat.amax(-1), "minimum": lambda: flat.amin(-1),
                "and": lambda: flat.all(-1), "or": lambda: flat.any(-1)}[self.kind]()

    def op_arg_reduce(self, x):
        best = x.amax(self.dim, True) if self.kind == "maximum" else x.amin(self.dim, True)
        hit = (x == best) | (x != x)
        return hit.long().argmax(self.dim)

    def op_reduce_window(self, x):
        shape = [s + l + h for s, l, h in zip(x.shape, self.pad_low, self.pad_high)]
        padded = torch.full(shape, self._identity(self.kind), dtype=x.dtype)
        padded[tuple(slice(l, l + s) for l, s in zip(self.pad_low, x.shape))] = x
        taken = []
        for place in itertools.product(*map(range, self.window)):
            starts = [p * d for p, d in zip(place, self.dilation)]
            taken.append(padded[tuple(
                slice(start, start + (n - 1) * step + 1, step)
                for start, n, step in zip(starts, self.shape, self.strides))])
        return self._fold(torch.stack(taken, -1))

    def op_cumulative(self, x):
        assert self.dtypes[0] == self.dtype != "bool"
        x = x.flip(self.dim) if self.reverse else x
        if self.kind in ("maximum", "minimum"):
            scanned = (torch.cummax if self.kind == "maximum" else torch.cummin)(x, self.dim)[0]
        else:
            scan = {"add": torch.cumsum, "multiply": torch.cumprod, "log_add_exp": torch.logcumsumexp}[self.kind]
            scanned = scan(x, self.dim)
        assert not self.exclusive
        return scanned.flip(self.dim) if self.reverse else scanned

    # ---- Contractions and composites ------------------------------------------------------------

    def op_dot_general(self, a, b):
        assert self.dtypes[0] == self.dtypes[1] == self.dtype
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        left, right = [None] * a.dim(), [None] * b.dim()
        for i, j in [*zip(self.lhs_batch, self.rhs_batch),
                     *zip(self.lhs_contract, self.rhs_contract)]:
            left[i] = right[j] = next(letters)
        left = [name or next(letters) for name in left]
        right = [name or next(letters) for name in right]
        batch = [left[i] for i in self.lhs_batch]
        gone = {left[i] for i in self.lhs_contract}
        kept = [n for n in left if n not in gone and n not in batch]
        kept += [n for n in right if n not in gone and n not in batch]
        return torch.einsum(
            f"{''.join(left)},{''.join(right)}->{''.join(batch + kept)}", a, b)

    def op_convolution(self, x, w):
        assert self.dtypes[0] == self.dtypes[1] == self.dtype
        count = x.dim() - 2
        for dim in range(count):  # Spread by lhs_dilation, then pad or crop.
            step, size = self.lhs_dilation[dim], x.shape[dim + 2]
            shape = list(x.shape)
            shape[dim + 2] = (size - 1) * step + 1 if size else 0
            spread = torch.zeros(shape, dtype=x.dtype)
            index = [slice(None)] * x.dim()
            index[dim + 2] = slice(0, None, step)
            spread[tuple(index)] = x
            x = spread
        pads = [p for dim in reversed(range(count)) for p in (self.pad_low[dim], self.pad_high[dim])]
        x = torch.nn.functional.pad(x, pads)
        function = (torch.conv1d, torch.conv2d, torch.conv3d)[count - 1]
        return function(x, w, None, self.strides, 0, self.dilation, self.groups)

    def op_attention(self, q, k, v, mask=None):
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        scores = q @ k.transpose(-1, -2) * self.scale
        if self.causal:
            kept = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~kept, float("-inf"))
        if mask is not None:
            assert mask.dim() == 4
            assert self.dtypes[3] in ("bool", self.dtype)
            scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else (
                scores + mask)
        weights = torch.softmax(scores, -1)
        nothing = (scores == float("-inf")).all(-1, True)
        return torch.where(nothing, 0.0, weights) @ v

    # ---- Indexing and ordering ------------------------------------------------------------------

    def op_gather(self, x, indices):
        assert self.dtypes[1] not in FLOATS and self.index_vector_dim == indices.dim() - 1
        result = torch.empty(self.shape, dtype=x.dtype)
        batch_dims = [dim for dim in range(len(self.shape)) if dim not in self.offset_dims]
        kept = [dim for dim in range(x.dim()) if dim not in self.collapsed_dims]
        for place in itertools.product(*map(range, indices.shape[:-1])):
            start = [0] * x.dim()
            for dim, index in zip(self.start_index_map, indices[place].tolist()):
                start[dim] = min(max(index, 0), x.shape[dim] - self.slice_sizes[dim])
            window = x[tuple(slice(s, s + n) for s, n in zip(start, self.slice_sizes))]
            target = [slice(None)] * len(self.shape)
            for dim, index in zip(batch_dims, place):
                target[dim] = index
            result[tuple(target)] = window.reshape([self.slice_sizes[dim] for dim in kept])
        return result

    def op_scatter(self, x, indices, updates):
        assert self.dtypes[0] == self.dtypes[2]
        result = x.clone()
        batch_dims = [dim for dim in range(updates.dim()) if dim not in self.update_window_dims]
        window_dims = [dim for dim in range(x.dim()) if dim not in self.inserted_window_dims]
        combine = {"assign": lambda old, new: new, "add": torch.add, "multiply": torch.mul,
                   "maximum": torch.maximum, "minimum": torch.minimum}[self.kind]
        for place in itertools.product(*map(range, updates.shape)):
            vector = indices[tuple(place[dim] for dim in batch_dims)].tolist()
            target = [0] * x.dim()
            for dim, index in zip(self.scatter_dims, vector):
                target[dim] = index
            for dim, update_dim in zip(window_dims, self.update_window_dims):
                target[dim] += place[update_dim]
            if all(0 <= index < size for index, size in zip(target, x.shape)):
                target = tuple(target)
                result[target] = combine(result[target], updates[place])
        return result

    def op_sort(self, key, *values):
        order = torch.sort(key, dim=self.dim, descending=self.descending, stable=True)[1]
        return [torch.gather(x, self.dim, order) for x in (key, *values)]

    def op_rng_bit_generator(self, state):
        assert self.algorithm == "PHILOX"
        key, low, *high = [word % 2**64 for word in state.tolist()]
        (_, _), (dtype, shape) = self.types
        count, words = math.prod(shape), 2 if dtype == "i64" else 1
        blocks = -(-count * words // 4)
        stream, counter = [], low + (high[0] << 64 if high else 0)
        for block in range(blocks):
            place = counter + block if high else (counter + block) % 2**64
            stream += _philox([place >> shift & _WORD for shift in (0, 32, 64, 96)], [key & _WORD, key >> 32])
        elements = stream if words == 1 else [one | other << 32 for one, other in zip(stream[::2], stream[1::2])]
        after = counter + blocks
        state = [key, after % 2**64] + [after >> 64 & 2**64 - 1] * len(high)
        bits = torch.tensor([_signed(element, 32 * words) for element in elements[:count]], dtype=torch.int64)
        return [torch.tensor([_signed(word, 64) for word in state]), bits.reshape(shape)]

    def op_top_k(self, x):
        order = torch.sort(x, dim=-1, descending=self.largest, stable=True)[1][..., :self.k]
        return [torch.gather(x, -1, order), order]
