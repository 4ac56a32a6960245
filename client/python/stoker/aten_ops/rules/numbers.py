"""Numbers that PyTorch converts to the type of the result, and refuses where it does not hold them.

By the operators' schemas: every argument of type `Scalar`, but those that are operands (`x + 1e39` is computed in a wider
type), sizes and orders. A number that is known and does not fit is PyTorch's to refuse; one that is not is checked in a run.
"""

import math

from ...graph.dims import MOST_COUNTED, Dim, may_be_negative
from ...graph.values import FLOATS, INTEGER_LIMITS, LARGEST_FLOATS, Value, element_of
from .registry import Unsupported

_CONVERTED_OPERANDS = frozenset(("where",))  # Operators whose operands are converted, too.
_OPERANDS = frozenset(("self", "other", "exponent", "test_element", "x", "n"))
_POWERS, _OF_WIDE_FLOATS = "aten::pow", ("f32", "f64")  # An exponent is converted, but to these.
_OTHERS = frozenset(("start", "end", "step", "ord", "p", "correction", "min", "max", "maxnorm"))
_MADE = "aten::scalar_tensor"
_NAMES = {
    "f64": "double", "f32": "float", "f16": "c10::Half", "bf16": "c10::BFloat16", "i64": "int64_t", "i32": "int", "i16": "int16_t",
    "i8": "int8_t", "u8": "uint8_t"}


def require_numbers_fit(schema, dtype, arguments, keywords):
    """Unsupported for one that is known, and that `dtype` does not hold. `schema`: the operator's, or None."""
    for number in _numbers(schema, arguments, keywords, dtype):
        if isinstance(number, (int, float)) and not _fits(number, dtype):
            raise Unsupported(f"{number} as {dtype}")
        if isinstance(number, Value) and number.is_float and dtype in INTEGER_LIMITS and dtype != "bool":
            raise Unsupported(f"a number in {number.dtype}, which {dtype} may not hold")


def checked_numbers(g, schema, result, arguments, keywords):
    """The result, which raises in a run where its type does not hold a number that only the run knows."""
    for number in _numbers(schema, arguments, keywords, result.dtype):
        beyond = None
        if isinstance(number, Value) and number.is_float and result.dtype in FLOATS and number.dtype != result.dtype:
            limit = g.constant(LARGEST_FLOATS[result.dtype], number.dtype)
            beyond = g.binary("and", g.compare("GT", g.unary("abs", number), limit), g.predicate("is_finite", number))
        elif isinstance(number, Dim) and _largest(result.dtype) < MOST_COUNTED:
            counted = g.size(number, "i64")
            beyond = g.compare_with("GT", counted, int(_largest(result.dtype)))
            if may_be_negative(number):
                beyond = g.binary("or", beyond, g.compare_with("LT", counted, int(_least(result.dtype))))
        if beyond is not None:
            result = g.checked(
                result, g.convert(beyond, "i64"), 0, 1,
                f"value cannot be converted to type {_NAMES[result.dtype]} without overflow")
    return result


def _numbers(schema, arguments, keywords, dtype):
    names = _converted(schema)
    if not names or schema.name == _MADE and dtype in FLOATS:  # This is torch.tensor(), too, which rounds it to infinity.
        return
    if schema.name == _POWERS and dtype in _OF_WIDE_FLOATS:
        return
    for place, number in enumerate(arguments):
        if place in names:
            yield number
    for name, number in keywords.items():
        if name in names:
            yield number


def _converted(schema):
    """Places and names of such arguments."""
    if schema is None:
        return frozenset()
    name = schema.name, schema.overload_name  # Not every schema can be hashed.
    if name not in _known:
        _known[name] = frozenset(_found_in(schema))
    return _known[name]


_known = {}


def _found_in(schema):
    operands = _OPERANDS - {"exponent"} if schema.name == _POWERS else _OPERANDS
    without = _OTHERS if schema.name.partition("::")[2] in _CONVERTED_OPERANDS else _OTHERS | operands
    for place, each in enumerate(schema.arguments):
        if str(each.type) in ("number", "Optional[number]") and each.name not in without:
            yield place
            yield each.name


def _largest(dtype):
    return LARGEST_FLOATS[dtype] if dtype in FLOATS else math.inf if dtype == "bool" else INTEGER_LIMITS[dtype][1]


def _least(dtype):
    """Where a type has no sign a negative one wraps around."""
    return -_largest(dtype) if dtype in FLOATS else INTEGER_LIMITS[dtype][0] or -_largest(dtype)


def _fits(number, dtype):
    if dtype == "bool":
        return True
    if dtype in FLOATS:
        return not math.isfinite(number) or math.isfinite(element_of(number, dtype))
    return math.isfinite(number) and _least(dtype) <= number <= _largest(dtype)
