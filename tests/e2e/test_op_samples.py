"""PyTorch's own samples of its operators (op_samples_job.py): a tenth of them, forward in one process with captures on,
and with gradients in three dtypes; and operators whose rules or whose backwards have forms of their own. What PyTorch
runs a part of must be listed in opinfo_fallbacks.txt, and what is listed must be so. ./dev opinfo tries all of them."""

import concurrent.futures
import json
import os
import pathlib
import subprocess

import pytest
import torch

from e2e import forked
from e2e.opinfo_list import read_fallbacks

# Drawn by random.Random(0).sample from the operators of PyTorch 2.15 that take float32 and leave no
# result undefined. Names are written out, so that every version of PyTorch is asked the same.
OPS = """
T _segment_reduce_offsets argsort broadcast_tensors broadcast_to char clone cosh cov cummax
cumulative_trapezoid diag dist fft_ifftn fft_ifftshift fft_ihfft2 fft_rfft index_reduce_mean
kron linalg_eigvals linalg_inv_ex linalg_norm_subgradients_at_zero linalg_qr linalg_tensorinv
log1p log2 mT masked_std masked_var maximum min_reduction_no_dim mode mvlgamma_mvlgamma_p_1
nanmedian narrow nn_functional_avg_pool3d nn_functional_binary_cross_entropy_with_logits
nn_functional_hardshrink nn_functional_kl_div nn_functional_linear_cross_entropy_chunked
nn_functional_multi_head_attention_forward nn_functional_pixel_unshuffle nn_functional_silu
nn_functional_softplus permute_copy polygamma_polygamma_n_2 rand_like randn_like remainder
rot90 round_decimals_neg_3 scalar_tensor select_scatter signal_windows_hamming
softmax_with_dtype special_bessel_j0 special_chebyshev_polynomial_t special_i0e
special_modified_bessel_k0 split_with_sizes t_copy to_sparse topk trapz unbind_copy vdot
""".split()

FORMS = {
    "float32": """
index_select index_add index_copy index_fill gather scatter_add take_along_dim nn_functional_embedding
nn_functional_cross_entropy nn_functional_nll_loss nn_functional_logsigmoid nn_functional_max_pool2d
nn_functional_conv2d nn_functional_layer_norm nn_functional_batch_norm erfc lgamma logcumsumexp
""".split(),
    "bfloat16": """
sin tan acosh asinh atanh log10 logit erf erfc lgamma logcumsumexp sinc xlogy hypot nn_functional_gelu nn_functional_mish
nn_functional_conv_transpose3d
""".split()}
DTYPES = ("float32", "float64", "bfloat16")
SAMPLES = {"float32": 2, "float64": 1, "bfloat16": 2}
GRADIENTS = {dtype: [*OPS, *FORMS.get(dtype, ())] for dtype in DTYPES}
pytestmark = pytest.mark.together


def _run(site, *arguments):
    """What the job says of each operator, and how it ended."""
    job = pathlib.Path(__file__).with_name("op_samples_job.py")
    done = subprocess.run(
        [forked.python(), str(job), *arguments], env=site.env, capture_output=True, text=True,
        timeout=600)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["op"]: line for line in lines}, done


@pytest.fixture(scope="module")
def outcomes(make_site):
    return _run(make_site(), *OPS)


@pytest.fixture(scope="module")
def gradient_outcomes(make_site):
    site = make_site()
    site.env.update(STOKER_CAPTURES="off")
    with concurrent.futures.ThreadPoolExecutor(min(len(DTYPES), os.cpu_count())) as pool:
        found = {
            dtype: pool.submit(
                _run, site, "--gradients", "--dtype", dtype, "--samples", str(SAMPLES[dtype]), "--threads", "1", *names)
            for dtype, names in GRADIENTS.items()}
        return {dtype: one.result() for dtype, one in found.items()}


@pytest.mark.parametrize("name", OPS)
def test_operator_equals_eager(outcomes, name):
    _check(outcomes, name)


@pytest.mark.parametrize("dtype, name", [(dtype, name) for dtype in DTYPES for name in GRADIENTS[dtype]])
def test_gradients_equal_eager(gradient_outcomes, dtype, name):
    _check(gradient_outcomes[dtype], name)


def test_list_of_fallbacks_is_current(outcomes, gradient_outcomes):
    """For what the samples here see of it; the list is of the newest PyTorch."""
    version, listed = read_fallbacks()
    if not torch.__version__.startswith(version):
        pytest.skip(f"the list is of {version}")
    nothing = {"forward": {}, "gradients": {}}
    unlisted, gone = [], []
    for name in OPS:
        forward = [outcomes[0][name]]
        together = [found[name] for found, _ in gradient_outcomes.values()]
        for kind, lines in (("forward", forward), ("gradients", together)):
            seen = set().union(*(line["fallbacks"] for line in lines))
            known = listed.get(name, nothing)[kind]
            unlisted += [f"{name}: {kind}: {one}" for one in sorted(seen - set(known))]
            # Its first sample is among those of every run.
            gone += [f"{name}: {kind}: {one}" for one, place in known.items() if place == 0 and one not in seen]
    assert not unlisted and not gone, (
        f"./dev opinfo --store writes the list anew. Not in it: {unlisted}. In it, and mapped by now: {gone}.")


def _check(outcomes, name):
    found, done = outcomes
    assert name in found, f"The job ended before it, with {done.returncode}: {done.stderr[-2000:]}"
    if found[name]["outcome"] == "skipped":
        pytest.skip(found[name]["why"])
    assert found[name]["outcome"] == "passed", found[name]["why"]
