"""What a backward pass needs is asked for while its forward graph is compiled, and made while that runs and PyTorch traces what
comes after it: the first backward pass finds it there."""

from ..base import background
from ..base.log import logger
from ..base.signals import let_through
from ..graph.devices import device_of
from ..graph.program import Segment
from ..libstoker import library
from ..libstoker.client import client
from ..libstoker.library import StokerError
from ..pytorch import devices
from ..runtime import sizes
from .lower import lower


class Ahead:
    """Executables by what asks for them. Each is taken once. `backward`: the graph that is called later, or None."""

    def __init__(self, backward=None):
        self._backward = backward
        self._asked = {}

    def begin(self, program, options, device):
        """Where there is a backward graph, its executables and those of `program`, the forward's, are made from now on."""
        gm, self._backward = self._backward, None
        if gm is None or sizes.symbolic_inputs(gm):
            return
        try:
            self._ask(program, options, device)
            self._ask(lower(gm, (), draws_inside=not options.verify), options, device_of(gm))
        except Exception as error:  # Of lowering; or there may be no more threads.
            let_through(error)
            logger.info("a backward graph is not compiled ahead: %s", error)  # Who compiles it says it to the user.

    def _ask(self, program, options, device):
        for step in program.steps:
            if isinstance(step, Segment):
                arguments = _arguments(step, options, device)
                self._asked[arguments] = _Asked(arguments)

    def handle(self, segment, options, device):
        """Of the segment's executable; StokerError where none can be made."""
        arguments = _arguments(segment, options, device)
        asked = self._asked.pop(arguments, None)
        handle = None if asked is None else asked.take()
        return _make(*arguments) if handle is None else handle


def _arguments(segment, options, device):
    return segment.text, options.numerics, options.verify, devices.name_of(device)


def _make(text, numerics, verify, device):
    return client().compile(text, numerics, verify, device=device)


class _Asked:
    def __init__(self, arguments):
        self._handle = None
        self._thread = background.start("stoker-ahead", "a graph is compiled when it is called", self._ask, arguments)

    def _ask(self, arguments):
        try:
            self._handle = _make(*arguments)
        except StokerError as error:
            logger.info("nothing was compiled ahead: %s", error)  # Who needs it asks again, and says it to the user.

    def take(self):
        """The handle, which is the caller's; None where there is none. In a forked process the thread has ended."""
        self._thread.join()
        handle, self._handle = self._handle, None
        return handle

    def __del__(self):
        if self._handle is not None:
            library.load().stoker_executable_free(self._handle)
