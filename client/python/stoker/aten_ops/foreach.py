"""Operators on lists of tensors, as optimizers use them: for each element the operator on one tensor, all in one graph, so that a chain of
them becomes one loop over each element."""

import math

from ..graph.values import FLOATS, LARGEST_FLOATS
from .rules.registry import RULES, Unsupported, compute_dtype, rule

_UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign
    sin sinh sqrt tan tanh trunc""".split()
# Of two tensors, of a tensor and a number.
_BINARY = {
    "add": ("add.Tensor", "add.Tensor"), "sub": ("sub.Tensor", "sub.Tensor"), "mul": ("mul.Tensor", "mul.Tensor"),
    "div": ("div.Tensor", "div.Tensor"), "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar"), "lerp": ("lerp.Tensor", "lerp.Scalar"),
    "maximum": ("maximum.default", "clamp_min.default"), "minimum": ("minimum.default", "clamp_max.default"),
    "clamp_min": ("clamp_min.Tensor", "clamp_min.default"), "clamp_max": ("clamp_max.Tensor", "clamp_max.default"),
    "addcmul": ("addcmul.default",) * 2, "addcdiv": ("addcdiv.default",) * 2}
_WITH_A_TENSOR = ("add", "mul", "div")  # That is one for all elements.


def _require_floats(out, numbers):
    for each in out:
        if each.dtype not in FLOATS:
            raise Unsupported(f"a list of {each.dtype}")
        limit = LARGEST_FLOATS[compute_dtype(each.dtype)]
        if any(isinstance(number, (int, float)) and math.isfinite(number) and abs(number) > limit for number in numbers):
            raise Unsupported(f"a number that {each.dtype} is not computed with")


def _for_each(element):
    """A rule of lists. Arguments that are lists have an element for each; others are for all."""

    def emit(g, out, *arguments, **keywords):
        if not out:
            return ()
        values = [*arguments, *keywords.values()]
        _require_floats(out, [
            number for value in values for number in (value if isinstance(value, list) else [value])])
        return tuple(
            RULES[element](g, each, *[_element(value, place) for value in arguments],
                           **{name: _element(value, place) for name, value in keywords.items()})
            for place, each in enumerate(out))

    return emit


def _element(value, place):
    return value[place] if isinstance(value, list) else value


for _name in _UNARY:
    rule(f"_foreach_{_name}")(_for_each(f"aten.{_name}.default"))
for _name, (_of_tensors, _of_numbers) in _BINARY.items():
    if not _name.startswith("addc"):
        rule(f"_foreach_{_name}.List")(_for_each(f"aten.{_of_tensors}"))
    rule(f"_foreach_{_name}.Scalar", f"_foreach_{_name}.ScalarList")(_for_each(f"aten.{_of_numbers}"))
for _name in _WITH_A_TENSOR:
    rule(f"_foreach_{_name}.Tensor")(_for_each(f"aten.{_BINARY[_name][0]}"))
rule("_foreach_pow.ScalarAndTensor")(_for_each("aten.pow.Scalar"))


@rule("_foreach_norm.Scalar")
def norm(g, out, tensors, order=2, dtype=None):
    _require_floats(out, (order,))
    return tuple(
        RULES["aten.linalg_vector_norm.default"](g, each, x, order, None, False, dtype=dtype) for each, x in zip(out, tensors))
