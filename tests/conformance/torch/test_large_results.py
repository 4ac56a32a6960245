"""Large results lie on large pages, where the system has any, and where an earlier one lay that nobody holds any more."""

import mmap
import multiprocessing
import pathlib
import threading
import weakref

import pytest
import torch

from stoker.runtime import heap
from stoker.runtime.heap import LARGE

SIZE = LARGE // 4


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Nobody but the test looks, and memory is no matter."""
    monkeypatch.setattr(heap._watch, "start", lambda: None)
    monkeypatch.setattr(heap, "_memory_bytes", lambda: 1 << 40)
    heap._kept.clear()
    yield heap._kept
    heap._kept.clear()


def result(size=SIZE):
    return heap.large_result((size,), (1,), torch.float32)


HOLDERS = {
    "a tensor": lambda tensor: tensor,
    "a view": lambda tensor: tensor[5:7],
    "a detached one": torch.Tensor.detach,
    "another type": lambda tensor: tensor.view(torch.int32),
    "NumPy": torch.Tensor.numpy,
    "DLPack": lambda tensor: torch.utils.dlpack.to_dlpack(tensor),
    "another library": lambda tensor: memoryview(tensor.numpy()),
    "its storage": torch.Tensor.untyped_storage,
    "a typed storage": lambda tensor: torch.storage.TypedStorage(
        wrap_storage=tensor.untyped_storage(), dtype=torch.float32, _internal=True),
    "what autograd saved": lambda tensor: torch.ones(SIZE, requires_grad=True) * tensor,
    "a clone made when written": torch._lazy_clone,
    "a weak reference": lambda tensor: weakref.ref(tensor.untyped_storage()),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_anybody_holds_stays_as_it_is(name):
    first = result().fill_(1)
    address, holder = first.data_ptr(), HOLDERS[name](first)
    del first
    second = result().fill_(2)
    assert second.data_ptr() != address
    del holder, second


def test_memory_of_a_result_that_nobody_holds_serves_the_next_of_its_size(kept):
    first = result()
    address = first.data_ptr()
    assert result(SIZE + 1).data_ptr() != address and result().data_ptr() != address
    del first
    second = heap.large_result((2, SIZE), (1, 2), torch.int16)
    assert second.data_ptr() == address and second.stride() == (1, 2) and second._version <= 1
    assert not second.requires_grad and not second._is_view() and second.is_leaf
    second.resize_(4)
    assert second.untyped_storage().nbytes() == 4 * SIZE
    assert len(kept) == 3


@pytest.mark.parametrize("change", (
    lambda tensor: tensor.untyped_storage().resize_(0), lambda tensor: tensor.resize_(2 * SIZE), torch.Tensor.share_memory_))
def test_memory_that_is_another_is_not_used_again(change):
    first = result()
    change(first)
    address = first.data_ptr()
    del first
    second = result()
    assert second.untyped_storage().nbytes() == 4 * SIZE and second.data_ptr() not in (0, address)
    assert not second.is_shared()


@pytest.mark.parametrize("use", (torch.Tensor.numpy, lambda tensor: setattr(tensor.untyped_storage(), "tag", 1)))
def test_what_a_use_leaves_at_a_storage_is_in_no_later_result(use):
    first = result()
    use(first)
    del first
    second = result().resize_(SIZE + 1)
    assert second.untyped_storage().resizable() and not hasattr(second.untyped_storage(), "tag")


def test_results_of_inference_and_others_take_turns():
    with torch.inference_mode():
        address = result().data_ptr()
    again = result()
    assert again.data_ptr() == address and not again.is_inference()
    again.requires_grad_().mul(2).sum().backward()
    del again
    with torch.inference_mode():
        assert result().is_inference()


def test_what_no_call_takes_is_given_back(kept):
    used, unused = result(), result(SIZE + 1)
    used_address = used.data_ptr()
    del used, unused
    for look in range(heap._LOOKS):
        assert len(kept) == 2
        assert result().data_ptr() == used_address
        heap.give_back_unused()
    heap.give_back_unused()
    assert [memory.nbytes for memory in kept.values()] == [4 * SIZE]


def test_a_training_step_keeps_no_more_than_the_limit(kept, monkeypatch):
    monkeypatch.setattr(heap, "KEPT", 3 * LARGE)
    activations = [result() for _ in range(8)]
    addresses = [each.data_ptr() for each in activations]
    assert len(kept) == 3
    activations.clear()
    assert {result().data_ptr()} <= set(addresses[5:]) and len(kept) == 3


def test_a_small_container_keeps_less(kept, monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.undo()
    monkeypatch.setattr(heap._watch, "start", lambda: None)
    monkeypatch.setattr(heap, "_LIMITS", (str(tmp_path / "absent"), str(limit)))
    for text, count in (("max", 1), (str(64 * LARGE), 1), (str(LARGE), 0)):
        limit.write_text(text + "\n")
        heap._memory_bytes.cache_clear()
        kept.clear()
        result()
        assert len(kept) == count
    heap._memory_bytes.cache_clear()


def test_threads_share_no_memory():
    wrong, barrier = [], threading.Barrier(4)

    def calls(number):
        barrier.wait()
        for count in range(100):
            tensor = result()
            tensor[::4096] = number
            if not tensor[::4096].eq(number).all():
                wrong.append((number, count))
            del tensor

    threads = [threading.Thread(target=calls, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_calls_use_it_and_results_that_are_held_stay():
    compiled = torch.compile(lambda x: x + 1, backend="stoker", fullgraph=True)
    x = torch.zeros(SIZE)
    held = [compiled(x + number) for number in range(3)]
    assert all(torch.equal(each, x + number + 1) for number, each in enumerate(held))
    address = held.pop().data_ptr()
    assert compiled(x).data_ptr() == address
    assert all(torch.equal(each, x + number + 1) for number, each in enumerate(held))


def _count(answers):
    answers.put(len(heap._kept))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="No process can be forked here.")
def test_a_forked_process_keeps_none(kept):
    context = torch.multiprocessing.get_context("fork")
    answers = context.Queue()
    result()
    other = context.Process(target=_count, args=(answers,))
    other.start()
    assert answers.get(timeout=60) == 0 and len(kept) == 1
    other.join(60)


def _is_still(queue, value, answers):
    tensor = queue.get()
    answers.put("ready")
    answers.put(queue.get() is None and bool((tensor.numpy() == value).all()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="No process can be forked here.")
def test_what_another_process_reads_stays_as_it_is():
    context = torch.multiprocessing.get_context("fork")
    queue, answers = context.Queue(), context.Queue()
    other = context.Process(target=_is_still, args=(queue, 1, answers))
    other.start()
    first = result().fill_(1)
    queue.put(first)
    assert answers.get(timeout=60) == "ready"
    del first
    result().fill_(2)
    queue.put(None)
    assert answers.get(timeout=60)
    other.join(60)


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
