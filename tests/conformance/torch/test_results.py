"""Every result of every operator that has several, against eager PyTorch: operators of a backward that PyTorch
runs read the second and third ones."""

import pytest
import torch

from cases import NAN, SPECIAL, aten, floats, integers
from lowered import lowered, run_program
from stoker.aten_ops import RULES
from test_operators import TOLERANCE

IMAGE = floats(2, 6, 6, 6)
CHANNELS = floats(6, low=0.5)
ATTENTION = [floats(2, 3, 5, 8)] * 3
ATTENDED = aten._scaled_dot_product_flash_attention_for_cpu(*ATTENTION)

ROWS, ROW_MEAN, ROW_SCALE = floats(3, 7), floats(3, 1), floats(3, 1, low=0.5)
GROUPED, GROUP_SCALE = floats(2, 6, 36), floats(2, 2, low=0.5)
ALL = [True, True, True]

# Arguments of each. None: PyTorch has no kernel for CPU tensors.
ARGUMENTS = {
    aten._batch_norm_with_update_functional.default: (IMAGE, CHANNELS, CHANNELS, floats(6), CHANNELS, 0.1, 1e-5),
    aten._fused_rms_norm.default: (floats(3, 7), [7], floats(7), 1e-5),
    aten._fused_rms_norm_backward.default: (ROWS, ROWS * 2, [7], ROW_SCALE, floats(7), [True, True]),
    aten._native_batch_norm_legit.no_stats: (IMAGE, CHANNELS, CHANNELS, True, 0.1, 1e-5),
    aten._native_batch_norm_legit_functional.default: (
        IMAGE, CHANNELS, CHANNELS, floats(6), CHANNELS, True, 0.1, 1e-5),
    aten._native_batch_norm_legit_no_training.default: (
        IMAGE, CHANNELS, CHANNELS, floats(6), CHANNELS, 0.1, 1e-5),
    aten._prelu_kernel_backward.default: (ROWS, ROWS * 2, floats(3, 7, low=0)),
    aten._scaled_dot_product_attention_math.default: ATTENTION,
    aten._scaled_dot_product_attention_math_for_mps.default: None,
    aten._scaled_dot_product_cudnn_attention.default: None,
    aten._scaled_dot_product_efficient_attention.default: None,
    aten._scaled_dot_product_flash_attention.default: None,
    aten._scaled_dot_product_flash_attention_for_cpu.default: ATTENTION,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: (
        ATTENDED[0] * 2, *ATTENTION, *ATTENDED, 0.0, False),
    aten._scaled_dot_product_fused_attention_overrideable.default: None,
    aten.adaptive_max_pool2d.default: (IMAGE, [3, 2]),
    aten.adaptive_max_pool3d.default: (IMAGE, [3, 2, 3]),
    aten.aminmax.default: (floats(3, 7),),
    aten.batch_norm_backward.default: (
        IMAGE, IMAGE * 2, CHANNELS, floats(6), CHANNELS, floats(6), CHANNELS, True, 1e-5, ALL,
        torch.empty(0, dtype=torch.uint8)),
    aten.convolution_backward.default: (
        floats(2, 6, 6, 6), floats(2, 4, 6, 6), floats(6, 4, 3, 3), [6], [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
        ALL),
    aten.cummax.default: (floats(3, 7), 1),
    aten.cummin.default: (floats(3, 7), 1),
    aten.frexp.Tensor: (SPECIAL,),
    aten.kthvalue.default: (floats(3, 7), 2),
    aten.log_sigmoid_forward.default: (SPECIAL,),
    aten.max.dim: (floats(3, 7), 1),
    aten.max_pool1d_with_indices.default: (floats(2, 3, 8), [2]),
    aten.max_pool2d_with_indices.default: (IMAGE, [2, 2]),
    aten.max_pool3d_with_indices.default: (IMAGE, [2, 2, 2]),
    aten.median.dim: (ROWS, 1),
    aten.min.dim: (floats(3, 7), 1),
    aten.mode.default: (ROWS, 1),
    aten.nanmedian.dim: (torch.tensor([[1.0, NAN, 3.0, 2.0], [NAN, 4.0, NAN, 5.0]]), 1),
    aten.native_batch_norm.default: (IMAGE, CHANNELS, CHANNELS, floats(6), CHANNELS, False, 0.1, 1e-5),
    aten.native_batch_norm_backward.default: (
        IMAGE, IMAGE * 2, CHANNELS, floats(6), CHANNELS, floats(6), CHANNELS, True, 1e-5, ALL),
    aten.native_dropout.default: (floats(3, 7), 0.5, False),
    aten.native_group_norm.default: (IMAGE, CHANNELS, CHANNELS, 2, 6, 36, 3, 1e-5),
    aten.native_group_norm_backward.default: (
        GROUPED, GROUPED * 2, floats(2, 2), GROUP_SCALE, floats(6), 2, 6, 36, 2, ALL),
    aten.native_layer_norm.default: (floats(3, 7), [7], floats(7), floats(7), 1e-5),
    aten.native_layer_norm_backward.default: (
        ROWS, ROWS * 2, [7], ROW_MEAN, ROW_SCALE, floats(7), floats(7), ALL),
    aten.nll_loss2d_forward.default: (
        floats(2, 5, 3, 4), integers(2, 3, 4, low=0, high=5), floats(5, low=0.5), 1, -100),
    aten.nll_loss_forward.default: (floats(6, 5), integers(6, low=0, high=5), None, 1, -100),
    aten.sort.default: (floats(3, 7),),
    aten.sort.stable: (floats(3, 7),),
    aten.std_mean.correction: (floats(3, 7), [1]),
    aten.std_mean.default: (floats(3, 7),),
    aten.std_mean.dim: (floats(3, 7), [1]),
    aten.topk.default: (floats(3, 7), 3),
    aten.var_mean.correction: (floats(3, 7), [1]),
    aten.var_mean.default: (floats(3, 7),),
    aten.var_mean.dim: (floats(3, 7), [1]),
}
KEYWORDS = {aten.sort.stable: {"stable": True}}


def worst_error(result, exact):
    return (result.double() - exact.double()).abs().max()


def _several_results():
    for name in RULES:
        _, packet, overload = name.split(".")
        operator = getattr(getattr(aten, packet, None), overload, None)
        if operator is not None and len(operator._schema.returns) > 1:
            yield operator


def test_arguments_are_of_every_operator_with_several_results():
    assert set(_several_results()) <= set(ARGUMENTS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("operator", [one for one, given in ARGUMENTS.items() if given], ids=str)
def test_all_results(operator, dtype):
    given = [
        x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in ARGUMENTS[operator]]
    places = [place for place, x in enumerate(given) if isinstance(x, torch.Tensor)]

    def function(*tensors):
        arguments = list(given)
        for place, tensor in zip(places, tensors):
            arguments[place] = tensor
        results = operator(*arguments, **KEYWORDS.get(operator, {}))
        return [result for result in results if isinstance(result, torch.Tensor)]

    def exact():
        wide = [x.double() if x.is_floating_point() else x for x in tensors]
        return function(*wide)

    tensors = [given[place] for place in places]
    try:
        expected = function(*tensors)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch: {error}")
    gm, program = lowered(function, *tensors)
    promised = [node.meta["val"].dtype for node in gm.graph.output_node().args[0]]
    results = run_program(gm, program, tensors)
    assert len(results) == len(expected)
    for place, (result, wanted, dtype_promised) in enumerate(zip(results, expected, promised)):
        # Where PyTorch runs the operator after all, it gives what it gives.
        assert result.shape == wanted.shape and result.dtype in (dtype_promised, wanted.dtype)
        tolerance = TOLERANCE.get(wanted.dtype, 0)
        try:
            # PyTorch promises f32 for some statistics of narrow floats that its kernels round.
            torch.testing.assert_close(
                result.to(wanted.dtype), wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError:
            # Eager rounds many times where a processor has no arithmetic of narrow floats.
            if dtype not in (torch.float16, torch.bfloat16):
                raise
            assert worst_error(result, exact()[place]) <= worst_error(wanted, exact()[place])
