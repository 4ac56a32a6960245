"""Large results lie on large pages, where the system has any."""

import mmap
import pathlib

import pytest
import torch

from stoker.runtime.heap import LARGE


def is_advised(tensor):
    """Has the system been asked for large pages in the middle of this tensor?"""
    middle, inside = tensor.data_ptr() + tensor.nbytes // 2, False
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        word, *words = line.split()
        if not word.endswith(":"):
            begin, end = (int(part, 16) for part in word.split("-"))
            inside = begin <= middle < end
        elif inside and word == "VmFlags:":
            return "hg" in words
    raise AssertionError("It is in no mapping.")


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE") or not pathlib.Path(
    "/sys/kernel/mm/transparent_hugepage").exists(), reason="This kernel has no large pages to ask for.")
def test_large_results_are_on_large_pages_and_small_ones_are_not():
    compiled = torch.compile(lambda x, y: (x + 1, y + 1), backend="stoker", fullgraph=True)
    x, y = torch.zeros(LARGE // 4 + 4096), torch.zeros(4096)
    large, small = compiled(x, y)
    assert torch.equal(large, x + 1) and torch.equal(small, y + 1)
    assert is_advised(large) and not is_advised(small)
