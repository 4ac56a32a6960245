"""How far results of Stoker's and of eager's are from a wider eager's."""

import contextlib

import torch

WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float32, torch.float16: torch.float32}
MAX_RATIO = 3


def error_of(found, reference):
    found, reference = found.double(), reference.double()
    if not torch.equal(found.isfinite(), reference.isfinite()):
        return float("inf")
    kept = reference.isfinite()
    scale = reference[kept].abs().max().item() if kept.any() else 0.0
    return ((found - reference)[kept].abs().max().item() / (scale or 1.0)) if kept.any() else 0.0


def errors_of(found, eager, wider):
    """[(Stoker's error, eager's)] over lists of tensors."""
    errors = []
    for mine, theirs, reference in zip(found, eager, wider, strict=True):
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype or mine.stride() != theirs.stride():
            raise AssertionError(
                f"{mine.dtype} {tuple(mine.shape)} {mine.stride()} where eager gives "
                f"{theirs.dtype} {tuple(theirs.shape)} {theirs.stride()}")
        errors.append((error_of(mine, reference), error_of(theirs, reference)))
    return errors


def judge(errors, like, dtype):
    """(largest error, eager's, what is too far from the wider result). `errors`: of errors_of; `like`: the tensors."""
    worst, own, far = 0.0, 0.0, []
    for number, ((error, eager_error), tensor) in enumerate(zip(errors, like, strict=True)):
        bound = max(MAX_RATIO * eager_error, torch.finfo(dtype).eps) if tensor.is_floating_point() else eager_error
        worst, own = max(worst, error), max(own, eager_error)
        if not error <= bound:
            far.append((error / bound, f"tensor {number} {list(tensor.shape)}: {error:.2e}, eager's {eager_error:.2e}"))
    return worst, own, "; ".join(words for _, words in sorted(far, reverse=True)[:4])


def compare(found, eager, wider, dtype):
    return judge(errors_of(found, eager, wider), eager, dtype)


def tensors(result):
    return [result] if isinstance(result, torch.Tensor) else [x for x in result if isinstance(x, torch.Tensor)]


@contextlib.contextmanager
def full_precision():
    """Eager's float32 products without TF32, as Stoker's are asked to be."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    yield


def compiled(function, **keywords):
    torch._dynamo.reset()
    return torch.compile(function, backend="stoker", **keywords)
