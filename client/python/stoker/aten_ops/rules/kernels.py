"""What PyTorch's own kernels take, where a rule would take more. A call with anything else is PyTorch's to refuse."""

from ...graph.values import FLOATS, INTEGERS, NARROW_FLOATS
from .registry import Unsupported

_WIDE_FLOATS = FLOATS - NARROW_FLOATS
_NUMBERS = FLOATS | INTEGERS

# Of the first tensor; where bool alone is none of them, of any.
_TAKEN = {
    name: dtypes for dtypes, names in (
        (FLOATS, """
            _adaptive_avg_pool2d _adaptive_avg_pool3d _log_softmax_backward_data _native_batch_norm_legit
            _native_batch_norm_legit_functional _native_batch_norm_legit_no_training _prelu_kernel _softmax_backward_data adaptive_max_pool2d
            adaptive_max_pool3d avg_pool2d binary_cross_entropy binary_cross_entropy_with_logits hardshrink hardsigmoid
            hardswish huber_loss im2col lerp log_sigmoid_forward logcumsumexp max_pool2d_with_indices_backward
            max_unpool2d max_unpool3d mse_loss native_batch_norm native_group_norm native_layer_norm
            nll_loss2d_forward nll_loss_forward smooth_l1_loss soft_margin_loss softplus softshrink std std_mean var
            var_mean"""),
        (_WIDE_FLOATS, """
            _cdist_forward _pdist_forward avg_pool3d special_bessel_j0 special_bessel_j1 special_bessel_y0
            special_bessel_y1 special_erfcx special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
            special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
            special_scaled_modified_bessel_k1 special_spherical_bessel_j0"""),
        (_NUMBERS, """
            abs argmax argmin bucketize ceil dist floor kthvalue ldexp linalg_cross mvlgamma neg reflection_pad1d
            reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d round rsub
            searchsorted sub threshold trace trunc"""))
    for name in names.split()}
# Where those of GPUs differ from the CPU's; None: they take any.
_TAKEN_ON_CUDA = {
    name: dtypes for dtypes, names in (
        (None, "abs trace"),
        (FLOATS, """
            addbmm addmm addmv avg_pool3d baddbmm bmm convolution dot mm mv reflection_pad1d reflection_pad2d reflection_pad3d
            replication_pad1d replication_pad2d replication_pad3d vdot"""),
        (_NUMBERS, "max_unpool2d max_unpool3d"))
    for name in names.split()}
# All tensors are of one type;
_ALIKE = frozenset("""
    _cdist_forward _log_softmax_backward_data _softmax_backward_data addbmm addmm addmv baddbmm binary_cross_entropy bmm
    convolution dot heaviside lerp linalg_cross mm mv vdot""".split())
# the first and the last are, which those between are places in;
_ENDS_ALIKE = frozenset("""
    _unsafe_masked_index_put_accumulate index_add index_copy index_put index_reduce masked_scatter put scatter
    scatter_add scatter_reduce""".split())
# or parameters may be float32 beside a narrower input.
_WITH_PARAMETERS = frozenset("""
    _batch_norm_with_update_functional _native_batch_norm_legit _native_batch_norm_legit_functional
    _native_batch_norm_legit_no_training native_batch_norm
    native_group_norm native_layer_norm""".split())


def require_kernel(overload, dtypes, device_type):
    """Unsupported where PyTorch has none for this kind of device. `overload`: as in RULES; `dtypes`: of the tensors that
    it is given, in order."""
    if not dtypes or "." not in overload:  # "while_loop" has none of its own.
        return
    name = overload.split(".")[1]
    first, rest = dtypes[0], set(dtypes[1:])
    taken = _TAKEN.get(name)
    if device_type == "cuda":
        taken = _TAKEN_ON_CUDA.get(name, taken)
    for dtype in () if taken is None else dtypes if taken is _NUMBERS else [first]:
        if dtype not in taken:
            raise Unsupported(f"PyTorch's kernel takes no {dtype}")
    mixed = (
        name in _ALIKE and rest - {first}
        or name in _ENDS_ALIKE and len(dtypes) > 2 and dtypes[-1] != first
        or name in _WITH_PARAMETERS and rest - {first} and (rest != {"f32"} or first not in NARROW_FLOATS))
    if mixed:
        raise Unsupported(f"PyTorch's kernel takes no {' beside '.join(dict.fromkeys(dtypes))}")
