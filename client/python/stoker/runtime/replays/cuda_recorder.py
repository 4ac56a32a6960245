"""Records what a program gives a GPU to do, as a CUDA graph."""

import warnings

import torch

from ...base.locks import ProcessLock
from ...base.signals import let_through
from ...pytorch import devices
from ...pytorch.only_there import OnlyThere
from .lent_memory import Ahead
from .replay import Given, NoMemory, NotRecordable, Recording, overlaps

_lock = ProcessLock()
_UNUSED = 64 << 20  # Bytes. As many that nothing uses go back to the driver: what recordings work in is apart.
# (device, stream) -> the pool of all that is recorded there, and an empty graph that keeps the pool while nothing else does.
# What runs there runs in order: memory between kernels is shared; nothing that is there when it has ended lies in it.
_pools = {}
_streams = {}  # Device -> the stream on which is recorded.


class Recorder:
    def __init__(self, device, is_profiled=lambda: False):
        self._device = device
        self._is_profiled = is_profiled

    def is_busy(self):
        """Does the caller record this itself, or look at single kernels?"""
        return self._is_profiled() or devices.is_capturing()

    def stream(self):
        """What runs on another stream may run at the same time, and shares no memory."""
        return devices.stream_of(self._device)

    def record(self, run, arguments, moving, makers=(), lender=None):
        """A Recording of run(arguments). `moving`: places of inputs to be copied; `makers`: who makes results, and their numbers;
        `lender`: of memory for them. NotRecordable says what is in the way."""
        with _lock(), torch.inference_mode(False), torch.no_grad():
            try:
                return self._recorded(run, arguments, moving, makers, lender)
            except torch.OutOfMemoryError as error:
                raise NoMemory(_line_of(error)) from error

    def _recorded(self, run, arguments, moving, makers, lender):
        device = self._device
        _give_back_unused(device)
        ahead = Ahead({maker: maker.make_ahead(numbers, lender) for maker, numbers in makers}, lender)
        places, numbers = {}, []
        for place, argument in enumerate(arguments):
            if not isinstance(argument, torch.Tensor):
                continue
            if argument.device != device:
                if argument.dim() or argument.device.type != "cpu":
                    raise NotRecordable(f"an input lies on {argument.device.type}")
                places[place] = torch.empty((), dtype=argument.dtype, device=device)
                numbers.append(places[place])
            elif place in moving:
                places[place] = torch.empty_strided(
                    argument.shape, argument.stride(), dtype=argument.dtype, device=device)
        given = [places.get(place, argument) for place, argument in enumerate(arguments)]
        written = {slot for maker, _ in makers for slot in maker.updated}
        # What is written where an input was copied to is no input yet.
        hidden = frozenset(written.intersection(places))
        only_there = OnlyThere(device, numbers)
        graph, results, passing = self._captured_ahead(ahead, run, given, hidden, only_there)
        kept = {
            number: torch.empty_strided(result.shape, result.stride(), dtype=result.dtype, device=device)
            for number, result in passing.items() if result.numel() and not overlaps(result)}
        if kept:  # Once more, now that it is known what else is to be there before.
            graph = results = passing = None
            ahead.keep(kept.values())
            graph, results, passing = self._captured_ahead(ahead, _keeping(run, kept), given, hidden, only_there)
        return Recording(graph.replay, self.stream(), arguments, places, results, set(passing), lender)

    def _captured_ahead(self, ahead, run, given, hidden, only_there):
        """(graph, results, those by number that lie where all recordings work)"""
        with ahead:
            graph, results = self._capture(run, given, only_there)
        results = _as_given(results, given, ahead.lent, hidden)
        return graph, results, {
            number: result for number, result in enumerate(results)
            if isinstance(result, torch.Tensor) and result.untyped_storage().data_ptr() not in ahead.addresses}

    def _capture(self, run, arguments, only_there):
        device = self._device
        with torch.cuda.device(device):
            stream = _streams.get(device) or _streams.setdefault(device, torch.cuda.Stream(device))
            torch.cuda.synchronize(device)
            key, caller = (device, devices.stream_of(device)), torch.cuda.current_stream(device)
            with torch.cuda.stream(stream):
                if key not in _pools:
                    _pools[key] = _new_pool(device)
                captured = _captured(device, _pools[key][0], lambda: _run_there(run, arguments, only_there))
            # To begin a capture sets, on its stream, the place in the generator's numbers that each replay sets again.
            caller.wait_stream(stream)
            return captured


def _give_back_unused(device):
    if device.type == "cuda" and torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device) >= _UNUSED:
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()


def _new_pool(device):
    pool = torch.cuda.graph_pool_handle()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that the graph is empty.
        return pool, _captured(device, pool, list)[0]


def _keeping(run, kept):
    """`run`, whose results are copied to `kept`, {number: tensor}."""
    def run_and_keep(arguments):
        results = list(run(arguments))
        places = {id(results[number]): place for number, place in kept.items()}
        for number, place in kept.items():
            place.copy_(results[number])
        return [places.get(id(result), result) for result in results]

    return run_and_keep


def _as_given(results, arguments, lent=frozenset(), hidden=frozenset()):
    """A Given for each result that is an input, or shows the memory of one as it is. `lent`: addresses of memory in which are
    results of the recording's own; `hidden`: places of inputs that no result is."""
    tensors = [
        (place, tensor) for place, tensor in enumerate(arguments)
        if isinstance(tensor, torch.Tensor) and place not in hidden]
    known = {id(tensor): Given(place) for place, tensor in tensors}
    holders = {}
    for place, tensor in tensors:
        if tensor.untyped_storage().data_ptr() and tensor.untyped_storage().data_ptr() not in lent:
            holders.setdefault((tensor.untyped_storage().data_ptr(), tensor.dtype), (place, tensor))

    def of(result):
        if id(result) in known or not isinstance(result, torch.Tensor):
            return known.get(id(result), result)
        place, tensor = holders.get((result.untyped_storage().data_ptr(), result.dtype), (None, None))
        if place is None or (result.is_conj(), result.is_neg()) != (tensor.is_conj(), tensor.is_neg()):
            return result
        known[id(result)] = shown = Given(place, result.shape, result.stride(), result.storage_offset() - tensor.storage_offset())
        return shown

    return [of(result) for result in results]


def _run_there(run, arguments, only_there):
    """run(arguments), where all of it is on the GPU."""
    given = set(map(id, arguments))
    with only_there:
        results = run(list(arguments))
    if any(only_there.stands_for_another(result) for result in results if id(result) not in given):
        raise NotRecordable("a result lies on cpu")
    return results


def _captured(device, pool, run):
    """(graph, what run() gave) of what the current stream is given to do."""
    graph = torch.cuda.CUDAGraph()
    generator = torch.cuda.default_generators[device.index]
    state = generator.get_state()
    error = None
    graph.capture_begin(pool=pool, capture_error_mode="thread_local")
    try:
        results = run()
    except Exception as raised:
        error = raised
    try:
        graph.capture_end()
    except RuntimeError as raised:
        error = error or raised
    if error is not None:
        torch.cuda.synchronize(device)
        _release(generator, state)
        let_through(error)
        raise (NoMemory if isinstance(error, torch.OutOfMemoryError) else NotRecordable)(_line_of(error)) from error
    return graph, results


def _release(generator, state):
    """A capture that failed leaves the generator waiting for its end: it goes on from where it was."""
    try:
        torch.empty((), device=generator.device).uniform_()
        generator.set_state(state)
    except RuntimeError:
        fresh = torch.Generator(generator.device)
        fresh.set_state(state)
        generator.graphsafe_set_state(fresh.graphsafe_get_state())


def _line_of(error):
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
