"""GraphText: builds a graph in the text form of protocol/graph/OPS.md.

Values are immutable and known by their type; equal nodes are made once, and nodes that no output needs
are not printed. Shapes are tuples of ints, or of Dims where sizes vary.
"""

import re
from math import prod

from .dims import Dim, may_be_negative, same, symbol
from .program import IndexCheck
from .values import FLOATS, Node, Type, Value, broadcast_shapes, element_of, ints, number, numbers

# Of a reduction over sizes that vary, which one loop makes. More are for these sizes alone: the compiler cuts them into
# parts, for accuracy and for threads.
MAX_VARYING_TERMS = 1 << 17


class NoKernel(Exception):
    """The target has no kernel for an operation of graphs; the message names it."""


def symbols_in(text):
    """Numbers of the symbols that a graph's text names."""
    return set(map(int, re.findall(r"\bs(\d+)\b", text)))


def _rearranged(value):
    """What a chain of reshapes and transpositions ends in: others of the value are made of what it is made of."""
    while value.node is not None and value.node.op in ("reshape", "transpose"):
        value = value.node.operands[0]
    return value


def _quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class GraphText:
    """`absent`: operations that the target has no kernel for."""

    def __init__(self, name="main", absent=frozenset()):
        self.name = name
        self._absent = absent
        self.has_fast_f64 = False  # On the target: at half the rate of f32.
        self.has_attention = lambda q, k, v, mask: True  # A kernel for that, on the target.
        self.inputs = []  # [(Value, is parameter)]
        self.maker = None  # A name of what nodes are being made for.
        # Value -> the tensor it is known to be from shapes alone, or None.
        self.evaluate = lambda value: None
        self.facts = {}  # Value -> what a rule found out about it.
        self.updated = set()  # Values of inputs that change in place, and what scatters make of them.
        self._checks = []  # (Value made with the indices, their Value, IndexCheck)
        self._made = {}  # Everything about a node but its results -> Node.

    def _require_kernel(self, op):
        if op in self._absent:
            raise NoKernel(f"there is no kernel for {op}")

    def input(self, dtype, shape, parameter=False):
        value = Value(None, dtype, tuple(shape))
        self.inputs.append((value, parameter))
        return value

    def nodes(self, op, operands, attributes, types):
        """Adds a node with several results."""
        self._require_kernel(op)
        key = (op, tuple(map(id, operands)), attributes, types)
        node = self._made.get(key)
        if node is None:
            node = self._made[key] = Node(op, operands, attributes, self.maker)
            node.results = tuple(Value(node, dtype, shape) for dtype, shape in types)
        return node.results

    def node(self, op, operands, attributes, dtype, shape):
        return self.nodes(op, operands, attributes, ((dtype, shape),))[0]

    def extern_call(self, target, operands, types):
        """An operator that PyTorch runs. Equal calls are not one: they may draw random numbers."""
        node = Node("extern_call", tuple(operands), f" {{target={_quoted(target)}}}", self.maker)
        self._made["extern_call", len(self._made)] = node
        node.results = tuple(Value(node, dtype, shape) for dtype, shape in types)
        return node.results

    # ---- Constants ------------------------------------------------------------------------------

    def constant(self, value, dtype, shape=()):
        """A constant all of whose elements are `value`, converted to `dtype` as PyTorch converts."""
        if isinstance(value, Dim):
            return self.broadcast_in_dim(self.size(value, dtype), (), shape)
        result = self.node("constant", (), f" value({number(value, dtype)})", dtype, tuple(shape))
        result.splat = element_of(value, dtype)
        return result

    def constant_like(self, value, x):
        return self.constant(value, x.dtype, x.shape)

    def dense(self, data, dtype, shape):
        """A constant of raw little-endian elements."""
        return self.node("constant", (), f' bytes("{data.hex()}")', dtype, tuple(shape))

    def vector(self, values, dtype):
        listed = ", ".join(number(value, dtype) for value in values)
        return self.node("constant", (), f" value([{listed}])", dtype, (len(values),))

    def iota(self, dim, dtype, shape):
        return self.node("iota", (), f" {{dim={dim}}}", dtype, tuple(shape))

    def size(self, dim, dtype):
        """A Dim as a scalar."""
        return self.convert(self._number_of(dim), dtype)

    def _number_of(self, dim):
        """i64: a size that varies, and may be 0, is the last place along a dim of one more. What may come out negative is no
        size: it is computed of such."""
        if not isinstance(dim, Dim):
            return self.constant(dim, "i64")
        if not may_be_negative(dim):
            last = self.slice(self.iota(0, "i64", (dim + 1,)), [dim], [dim + 1])
            return self.reshape(last, ())
        result = self.constant(0, "i64")
        for atoms, coefficient in dim.terms.items():
            term = self.constant(coefficient, "i64")
            for atom in atoms:
                term = self.binary("multiply", term, self._number_of_atom(atom))
            result = self.binary("add", result, term)
        return result

    def _number_of_atom(self, atom):
        if atom.kind == "symbol":
            return self._number_of(symbol(atom.a))
        a, b = self._number_of(atom.a), self._number_of(atom.b)
        if atom.kind in ("max", "min"):
            return self.binary({"max": "maximum", "min": "minimum"}[atom.kind], a, b)
        return self.binary("subtract", self.binary("divide", a, b), self.above_floor(self.binary("remainder", a, b), b))

    # ---- Pointwise ------------------------------------------------------------------------------

    def unary(self, op, x):
        return self.node(op, (x,), "", x.dtype, x.shape)

    def require(self, x, message):
        """`x`, a bool. A kernel on a GPU fails with the message where it does not hold."""
        return self.node("require", (x,), f" {{message={_quoted(message)}}}", x.dtype, x.shape)

    def predicate(self, op, x):
        return self.node(op, (x,), "", "bool", x.shape)

    def binary(self, op, x, y):
        """Operands of one dtype; broadcasts."""
        shape = x.shape if same(x.shape, y.shape) else broadcast_shapes(x.shape, y.shape)
        operands = (self.broadcast(x, shape), self.broadcast(y, shape))
        return self.node(op, operands, "", x.dtype, shape)

    def with_scalar(self, op, x, scalar):
        return self.node(op, (x, self.constant_like(scalar, x)), "", x.dtype, x.shape)

    def compare(self, direction, x, y):
        shape = broadcast_shapes(x.shape, y.shape)
        if x.dtype == "bool":
            if direction in ("EQ", "NE"):
                differs = self.binary("xor", x, y)
                return differs if direction == "NE" else self.unary("not", differs)
            x, y = self.convert(x, "u8"), self.convert(y, "u8")
        operands = (self.broadcast(x, shape), self.broadcast(y, shape))
        return self.node("compare", operands, f' {{direction="{direction}"}}', "bool", shape)

    def above_floor(self, remainder, divisor):
        """How far a quotient that is rounded toward zero is above that of Python, whose remainder has the divisor's sign."""
        zero = self.constant(0, remainder.dtype)
        differs = self.compare("NE", self.compare("LT", remainder, zero), self.compare("LT", divisor, zero))
        return self.convert(self.binary("and", self.compare("NE", remainder, zero), differs), remainder.dtype)

    def compare_with(self, direction, x, scalar):
        return self.compare(direction, x, self.constant_like(scalar, x))

    def select(self, predicate, on_true, on_false):
        shape = broadcast_shapes(predicate.shape, on_true.shape, on_false.shape)
        operands = tuple(self.broadcast(x, shape) for x in (predicate, on_true, on_false))
        return self.node("select", operands, "", on_true.dtype, shape)

    def convert(self, x, dtype):
        if x.dtype == dtype:
            return x
        if x.splat is not None and (dtype in FLOATS or x.dtype not in FLOATS):
            return self.constant(x.splat, dtype, x.shape)
        return self.node("convert", (x,), "", dtype, x.shape)

    # ---- Shape ----------------------------------------------------------------------------------

    def broadcast(self, x, shape):
        """Broadcasts as PyTorch does: dims are aligned at the end."""
        if same(x.shape, shape):
            return x
        first = len(shape) - len(x.shape)
        return self.broadcast_in_dim(x, range(first, len(shape)), shape)

    def broadcast_in_dim(self, x, dims, shape):
        shape = tuple(shape)
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        dims = tuple(dims)
        if same(x.shape, shape) and dims == tuple(range(len(shape))):
            return x
        return self.node("broadcast_in_dim", (x,), f" {{dims={ints(dims)}}}", x.dtype, shape)

    def reshape(self, x, shape):
        shape = tuple(shape)
        if x.node is not None and x.node.op == "reshape":
            x = x.node.operands[0]
        if same(x.shape, shape):
            return x
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        if prod(x.shape) != prod(shape):
            raise ValueError(f"Shape {shape} has another number of elements than {x.shape}.")
        return self.node("reshape", (x,), "", x.dtype, shape)

    def transpose(self, x, dims):
        dims = tuple(dims)
        if x.node is not None and x.node.op == "transpose":
            x, inner = x.node.operands[0], x.node.order
            dims = tuple(inner[dim] for dim in dims)
        if dims == tuple(range(len(dims))):
            return x
        shape = tuple(x.shape[dim] for dim in dims)
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        result = self.node("transpose", (x,), f" {{dims={ints(dims)}}}", x.dtype, shape)
        result.node.order = dims
        return result

    def slice(self, x, start, limit, stride=None):
        stride = numbers(stride or (1,) * x.rank)
        shape = tuple(
            max(0, -(-(stop - begin) // step)) for begin, stop, step in zip(start, limit, stride))
        if same(shape, x.shape):
            return x
        if x.splat is not None:
            return self.constant(x.splat, x.dtype, shape)
        attributes = f" {{start={ints(start)}, limit={ints(limit)}, stride={ints(stride)}}}"
        return self.node("slice", (x,), attributes, x.dtype, shape)

    def slice_dim(self, x, dim, start, limit, step=1):
        starts, limits, strides = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[dim], limits[dim], strides[dim] = start, max(start, limit), step
        return self.slice(x, starts, limits, strides)

    def reverse(self, x, dims):
        dims = sorted(dims)
        return self.node("reverse", (x,), f" {{dims={ints(dims)}}}", x.dtype, x.shape)

    def pad(self, x, value, low, high, interior=None):
        """Elements of `value`, a scalar, around x and between its elements; fewer of x where a number is negative. A node says
        numbers: as many as vary are put beside."""
        low, high = list(low), list(high)
        around = [each for each in enumerate(zip(low, high)) if any(isinstance(count, Dim) for count in each[1])]
        for dim, _ in around:
            low[dim] = high[dim] = 0
        x = self._padded(x, value, low, high, interior or (0,) * x.rank)
        for dim, counts in around:
            x = self._beside(x, value, dim, *counts)
        return x

    def _beside(self, x, value, dim, before, after):
        def fill(count):
            return [self.broadcast(value, x.shape[:dim] + (count,) + x.shape[dim + 1:])] if count > 0 else []

        middle = self.slice_dim(x, dim, max(0, -before), x.shape[dim] - max(0, -after))
        return self.concatenate([*fill(before), middle, *fill(after)], dim)

    def _padded(self, x, value, low, high, interior):
        low, high, interior = (numbers(each) for each in (low, high, interior))
        shape = tuple(
            before + size + max(0, size - 1) * between + after
            for size, before, after, between in zip(x.shape, low, high, interior))
        if same(shape, x.shape) and not any(low):
            return x
        attributes = f" {{low={ints(low)}, high={ints(high)}, interior={ints(interior)}}}"
        return self.node("pad", (x, value), attributes, x.dtype, shape)

    def concatenate(self, xs, dim):
        if len(xs) == 1:
            return xs[0]
        shape = list(xs[0].shape)
        shape[dim] = sum(x.shape[dim] for x in xs)
        return self.node(
            "concatenate", tuple(xs), f" {{dim={dim}}}", xs[0].dtype, tuple(shape))

    # ---- Reductions and scans -------------------------------------------------------------------

    def reduce(self, kind, x, dims, keepdim=False):
        dims = sorted(dims)
        terms = prod(x.shape[dim] for dim in dims)
        if isinstance(terms, Dim) and terms > MAX_VARYING_TERMS:
            int(terms)
        kept = tuple(size for dim, size in enumerate(x.shape) if dim not in dims)
        result = x
        if dims:
            result = self.node(
                "reduce", (x,), f' {{dims={ints(dims)}, kind="{kind}"}}', x.dtype, kept)
        if keepdim:
            result = self.reshape(
                result, (1 if dim in dims else size for dim, size in enumerate(x.shape)))
        return result

    def arg_reduce(self, kind, x, dim):
        shape = x.shape[:dim] + x.shape[dim + 1:]
        return self.node("arg_reduce", (x,), f' {{dim={dim}, kind="{kind}"}}', "i64", shape)

    def reduce_window(self, kind, x, window, strides, low, high, dilation):
        window, strides, low, high, dilation = (numbers(each) for each in (window, strides, low, high, dilation))
        shape = tuple(
            (size + before + after - (extent - 1) * spread - 1) // step + 1
            for size, extent, step, before, after, spread
            in zip(x.shape, window, strides, low, high, dilation))
        attributes = (
            f" {{window={ints(window)}, strides={ints(strides)}, pad_low={ints(low)},"
            f' pad_high={ints(high)}, dilation={ints(dilation)}, kind="{kind}"}}')
        return self.node("reduce_window", (x,), attributes, x.dtype, shape)

    def cumulative(self, kind, x, dim, reverse=False, exclusive=False):
        attributes = (
            f' {{dim={dim}, kind="{kind}", reverse={number(reverse, "bool")},'
            f' exclusive={number(exclusive, "bool")}}}')
        return self.node("cumulative", (x,), attributes, x.dtype, x.shape)

    # ---- Contractions and composites ------------------------------------------------------------

    def dot(self, a, b, lhs_batch, lhs_contract, rhs_batch, rhs_contract):
        shape = [a.shape[dim] for dim in lhs_batch]
        for x, used in ((a, {*lhs_batch, *lhs_contract}), (b, {*rhs_batch, *rhs_contract})):
            shape += [size for dim, size in enumerate(x.shape) if dim not in used]
        attributes = (
            f" {{lhs_batch={ints(lhs_batch)}, lhs_contract={ints(lhs_contract)},"
            f" rhs_batch={ints(rhs_batch)}, rhs_contract={ints(rhs_contract)}}}")
        return self.node("dot_general", (a, b), attributes, a.dtype, tuple(shape))

    def matmul(self, a, b):
        """[..., M, K] x [..., K, N] with equal leading dims, or [M, K] x [K, N]."""
        batch = range(a.rank - 2)
        return self.dot(a, b, batch, [a.rank - 1], batch, [b.rank - 2])

    def convolution(self, x, w, strides, low, high, dilation, lhs_dilation, groups):
        self._require_kernel("convolution")  # Whoever has none asks for no numbers.
        for image in (x, w):  # There is a kernel for each size of images.
            numbers(image.shape[1:])
        strides, low, high, dilation, lhs_dilation = (numbers(each) for each in (strides, low, high, dilation, lhs_dilation))
        spatial = tuple(
            ((size - 1) * spread + 1 + before + after - (extent - 1) * gap - 1) // step + 1
            for size, extent, step, before, after, gap, spread
            in zip(x.shape[2:], w.shape[2:], strides, low, high, dilation, lhs_dilation))
        attributes = (
            f" {{strides={ints(strides)}, pad_low={ints(low)}, pad_high={ints(high)},"
            f" dilation={ints(dilation)}, lhs_dilation={ints(lhs_dilation)}, groups={groups}}}")
        shape = (x.shape[0], w.shape[0]) + spatial
        return self.node("convolution", (x, w), attributes, x.dtype, shape)

    def attention(self, q, k, v, mask, scale, causal):
        if not self.has_attention(q, k, v, mask):
            raise NoKernel("the libraries' attention is as fast or the only one")
        numbers((q.shape[3], v.shape[3]))  # There is a kernel for each size of heads.
        operands = (q, k, v) if mask is None else (q, k, v, mask)
        attributes = f' {{scale={float(scale)!r}, causal={number(causal, "bool")}}}'
        return self.node("attention", operands, attributes, q.dtype, q.shape[:3] + v.shape[3:])

    # ---- Indexing and ordering ------------------------------------------------------------------

    def gather(self, x, indices, offset_dims, collapsed, start_index_map, slice_sizes):
        """The last dim of `indices` is the index vector."""
        batch = iter(indices.shape[:-1])
        window = iter(size for dim, size in enumerate(slice_sizes) if dim not in collapsed)
        rank = indices.rank - 1 + len(offset_dims)
        shape = tuple(next(window if dim in offset_dims else batch) for dim in range(rank))
        if any(type(size) is int and size == 0 for size in shape):  # Even of an x that has no slice of these sizes.
            return self.constant(0, x.dtype, shape)
        attributes = (
            f" {{offset_dims={ints(offset_dims)}, collapsed_dims={ints(collapsed)},"
            f" start_index_map={ints(start_index_map)}, index_vector_dim={indices.rank - 1},"
            f" slice_sizes={ints(slice_sizes)}}}")
        return self.node("gather", (x, indices), attributes, x.dtype, shape)

    def scatter(self, kind, x, indices, updates, window_dims, inserted, scatter_dims):
        """The last dim of `indices` is the index vector."""
        if x in self.updated:
            indices = self.if_in_bounds(indices, lambda: self.constant_like(-1, indices))
        attributes = (
            f" {{update_window_dims={ints(window_dims)}, inserted_window_dims={ints(inserted)},"
            f" scatter_dims={ints(scatter_dims)}, index_vector_dim={indices.rank - 1},"
            f' kind="{kind}"}}')
        result = self.node("scatter", (x, indices, updates), attributes, x.dtype, x.shape)
        if x in self.updated:
            self.updated.add(result)
        return result

    def sort(self, operands, dim, descending):
        attributes = f' {{dim={dim}, descending={number(descending, "bool")}}}'
        return self.nodes("sort", tuple(operands), attributes, tuple(x.type for x in operands))

    def top_k(self, x, k, largest):
        self._require_kernel("top_k")
        k = int(k)
        shape = x.shape[:-1] + (k,)
        attributes = f' {{k={k}, largest={number(largest, "bool")}}}'
        return self.nodes("top_k", (x,), attributes, (Type(x.dtype, shape), Type("i64", shape)))

    def random_bits(self, state, dtype, shape):
        """(the state after them, bits)"""
        return self.nodes(
            "rng_bit_generator", (state,), ' {algorithm="PHILOX"}', (state.type, Type(dtype, tuple(shape))))

    def checked(self, result, indices, low, size, message):
        """`result`; where it is computed, `low` <= index < `size` holds or `message` is raised, with the index in
        place of "{index}"."""
        if prod(indices.shape):
            known = self.evaluate(indices)
            if known is None or known.min() < low or known.max() >= size:
                self._checks.append((_rearranged(result), indices, low, size, message))
        return result

    def if_in_bounds(self, value, otherwise):
        """`value`, or otherwise() if an index that was checked so far is out of bounds."""
        for _, indices, low, size, _ in self._checks:
            least, largest = self._limit("minimum", indices), self._limit("maximum", indices)
            is_inside = self.node(
                "and", (self.compare("GE", least, self.constant(low, "i64")),
                        self.compare("LT", largest, self.constant(size, "i64"))), "", "bool", ())
            value = self.select(is_inside, value, otherwise())
        return value

    def limits(self):
        """Of all indices checked so far."""
        known = dict.fromkeys(indices for _, indices, *_ in self._checks)
        return [self._limit(kind, indices) for indices in known for kind in ("minimum", "maximum")]

    def checks_of(self, nodes):
        """(an IndexCheck for everything checked that `nodes` compute, the limits that they ask for)."""
        live = set(nodes)
        limits, checks = {}, {}  # Indices -> their limits; IndexCheck -> None.
        for result, indices, *condition in self._checks:
            if result.node in live:
                limits.setdefault(indices, None)
                checks[IndexCheck(list(limits).index(indices), *condition)] = None
        return tuple(checks), [
            limit for indices in limits for limit in (
                self._limit("minimum", indices), self._limit("maximum", indices))]

    def within(self, checks, limits):
        """Do all hold? One bool. `limits`: of checks_of."""
        bounds = {}
        for check in checks:
            least, largest = limits[2 * check.place:2 * check.place + 2]
            for direction, limit, bound in (("GE", least, check.low), ("LT", largest, check.size)):
                bounds[self.compare(direction, limit, self.constant(bound, "i64"))] = None
        result, *others = bounds
        for bound in others:
            result = self.binary("and", result, bound)
        return result

    def required(self, checks, limits):
        """The same, which a kernel on a GPU fails without."""
        said = dict.fromkeys(check.message.replace(" {index}", "").format(size=check.size) for check in checks)
        return self.require(self.within(checks, limits), "; ".join(said))

    def _limit(self, kind, indices):
        """Or 0, so that it is no input and the two differ."""
        extreme = self.reduce(kind, indices, range(indices.rank))
        return self.with_scalar(kind, self.convert(extreme, "i64"), 0)

    # ---- Printing -------------------------------------------------------------------------------

    def live(self, outputs):
        """(positions of the inputs that `outputs` need, their nodes in order)."""
        needed_nodes = {value.node for value in outputs if value.node is not None}
        needed_inputs = {value for value in outputs if value.node is None}
        nodes = []
        for node in reversed(self._made.values()):
            if node in needed_nodes:
                nodes.append(node)
                for operand in node.operands:
                    if operand.node is None:
                        needed_inputs.add(operand)
                    else:
                        needed_nodes.add(operand.node)
        nodes.reverse()
        inputs = [i for i, (value, _) in enumerate(self.inputs) if value in needed_inputs]
        return inputs, nodes

    def text(self, inputs, nodes, outputs, updates=()):
        """The text of what `live` found. `updates`: for each of the first outputs the place of the input that it updates,
        or None."""
        names = {}

        def name(value):
            names[value] = result = f"%{len(names)}"
            return result

        heads = []
        for position in inputs:
            value, parameter = self.inputs[position]
            heads.append(f"{name(value)}: {'parameter ' if parameter else ''}{value.type}")
        lines = [f"graph @{self.name}({', '.join(heads)}) {{"]
        for node in nodes:
            operands = ", ".join([names[operand] for operand in node.operands])
            results = ", ".join([name(value) for value in node.results])
            types = ", ".join([str(value.type) for value in node.results])
            lines.append(f"  {results} = {node.op}({operands}){node.attributes} : {types}")
        results = [names[value] for value in outputs]
        for place, updated in enumerate(updates):
            if updated is not None:
                results[place] += f" updates {names[self.inputs[inputs[updated]][0]]}"
        lines.append(f"  return {', '.join(results)}")
        lines.append("}\n")
        return "\n".join(lines)
