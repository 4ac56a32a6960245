"""Operators on lists of tensors: all that PyTorch has, but those named, in every dtype of floats, empty tensors and ones without dims too."""

import pytest
import torch

from lowered import lowered, run_program

SHAPES = ((3, 5), (7,), (), (2, 0), (4, 1, 3))
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}
# They copy, take empty tensors for an error, or their numbers lie in a tensor on the CPU.
NOT_MAPPED = ("mm", "copy", "zero", "clone", "max", "powsum", "addcdiv.Tensor", "addcmul.Tensor")


def _name_of(schema):
    return ".".join(filter(None, (schema.name.removeprefix("aten::_foreach_"), schema.overload_name)))


SCHEMAS = {
    _name_of(schema): schema for schema in torch._C._jit_get_all_schemas()
    if schema.name.startswith("aten::_foreach_") and not schema.name.endswith("_") and not schema.overload_name.endswith("out")
    and not {_name_of(schema), _name_of(schema).partition(".")[0]}.intersection(NOT_MAPPED)}


def _argument(kind, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    if kind == "List[Tensor]":
        return [(torch.rand(shape, generator=generator) * 0.8 + 0.1).to(dtype) for shape in SHAPES]
    if kind == "Tensor":
        return torch.tensor(0.75, dtype=dtype)
    return [0.5 + 0.1 * place for place in range(len(SHAPES))] if kind == "List[number]" else 0.625


def _called(schema, dtype):
    """(a function of tensors, these tensors)"""
    operator = getattr(getattr(torch.ops.aten, schema.name.removeprefix("aten::")), schema.overload_name or "default")
    arguments = [
        _argument(str(each.type), dtype, seed) for seed, each in enumerate(schema.arguments)
        if not each.kwarg_only and each.name != "dtype"]
    keywords = {"alpha": 0.5} if any(each.name == "alpha" for each in schema.arguments) else {}
    tensors = [
        each for value in arguments for each in (value if isinstance(value, list) else [value]) if isinstance(each, torch.Tensor)]

    def function(*given):
        rest = iter(given)
        filled = [
            [next(rest) if isinstance(each, torch.Tensor) else each for each in value] if isinstance(value, list)
            else next(rest) if isinstance(value, torch.Tensor) else value for value in arguments]
        return tuple(operator(*filled, **keywords))

    return function, tensors


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", SCHEMAS)
def test_each_element_is_as_pytorch_has_it(name, dtype):
    function, tensors = _called(SCHEMAS[name], dtype)
    gm, program = lowered(function, *tensors)
    assert not program.fallbacks
    for result, expected in zip(run_program(gm, program, tensors), function(*tensors), strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape
        torch.testing.assert_close(
            result.double(), expected.double(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True)


@pytest.mark.parametrize("function, tensors", [
    (lambda x, y: torch._foreach_add([x, y], 1), [torch.ones(2, dtype=torch.int64), torch.ones(3)]),
    (lambda x: torch._foreach_add([x], 1e39), [torch.ones(2)])])
def test_integers_and_numbers_beyond_the_type_are_pytorchs(function, tensors):
    try:
        expected = function(*tensors)
    except RuntimeError:
        return
    gm, program = lowered(function, *tensors)
    assert program.fallbacks
    for result, each in zip(run_program(gm, program, tensors), expected, strict=True):
        assert torch.equal(result, each)


def test_a_chain_over_many_tensors_is_one_segment():
    def step(*tensors):
        parameters, gradients, means = (list(tensors[place::3]) for place in range(3))
        means = torch._foreach_lerp(means, gradients, 0.1)
        scaled = torch._foreach_div(means, torch._foreach_add(torch._foreach_sqrt(torch._foreach_mul(means, means)), 1e-8))
        return (*torch._foreach_add(parameters, scaled, alpha=-0.01), *means)

    tensors = [torch.rand(4, place // 3 + 1) for place in range(12)]
    gm, program = lowered(step, *tensors)
    assert not program.fallbacks and len(program.steps) == 1
    for result, expected in zip(run_program(gm, program, tensors), step(*tensors), strict=True):
        torch.testing.assert_close(result.float(), expected, rtol=2e-5, atol=2e-5)
