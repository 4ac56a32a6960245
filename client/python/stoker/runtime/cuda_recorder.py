"""Records what a program gives a GPU to do, as a CUDA graph."""

import torch

from ..base.locks import ProcessLock
from ..pytorch import devices
from ..pytorch.only_there import OnlyThere
from .replay import Given, NotRecordable, Recording

_lock = ProcessLock()
# (device, stream) -> the pool of all that is recorded there. What runs there runs in order: memory between kernels is shared.
_pools = {}
_streams = {}  # Device -> the stream on which is recorded.


class Recorder:
    def __init__(self, device):
        self._device = device

    def is_busy(self):
        """Does the caller record this itself?"""
        return devices.is_capturing()

    def stream(self):
        """What runs on another stream may run at the same time, and shares no memory."""
        return devices.stream_of(self._device)

    def record(self, run, arguments, moving):
        """A Recording of run(arguments). `moving`: places of inputs to be copied. NotRecordable says what is in the way."""
        with _lock, torch.inference_mode(False), torch.no_grad():
            return self._recorded(run, arguments, moving)

    def _recorded(self, run, arguments, moving):
        device = self._device
        places = {}
        for place, argument in enumerate(arguments):
            if not isinstance(argument, torch.Tensor):
                continue
            if argument.device != device:
                if argument.dim() or argument.device.type != "cpu":
                    raise NotRecordable(f"an input lies on {argument.device.type}")
                places[place] = torch.empty((), dtype=argument.dtype, device=device)
            elif place in moving:
                places[place] = torch.empty_strided(
                    argument.shape, argument.stride(), dtype=argument.dtype, device=device)
        given = [places.get(place, argument) for place, argument in enumerate(arguments)]
        graph, results = self._capture(run, given)
        known = {id(tensor): place for place, tensor in enumerate(given) if isinstance(tensor, torch.Tensor)}
        results = [Given(known[id(result)]) if id(result) in known else result for result in results]
        return Recording(graph.replay, self.stream(), arguments, places, results)

    def _capture(self, run, arguments):
        device = self._device
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device):
            key = device, devices.stream_of(device)
            if key not in _pools:
                _pools[key] = torch.cuda.graph_pool_handle()
            stream = _streams.get(device) or _streams.setdefault(device, torch.cuda.Stream(device))
            torch.cuda.synchronize(device)
            error = None
            with torch.cuda.stream(stream):
                graph.capture_begin(pool=_pools[key], capture_error_mode="thread_local")
                try:
                    with OnlyThere(device):
                        results = run(list(arguments))
                except Exception as raised:
                    error = raised
                try:
                    graph.capture_end()
                except RuntimeError as raised:
                    error = error or raised
            if error is not None:
                torch.cuda.synchronize(device)
                raise NotRecordable(_line_of(error)) from error
        return graph, results


def _line_of(error):
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
