"""This process's connection to the daemon, and what can be asked of it without a graph."""

import atexit
import contextlib
import functools
import json
import logging
import os
from ctypes import byref, sizeof

from ..base import background
from ..base.locks import ProcessLock
from ..base.log import logger
from ..base.signals import let_through
from . import library
from .library import DATA_LOSS, ClientOptions, CompileOptions, ProgressFunction, StokerError

_lock = ProcessLock()
_clients = {}  # Process id -> Client: a forked process makes its own.
FLUSH_TIMEOUT_MS = 5000  # How long the end of a process may wait for packed weights to be saved.
_ahead = set()  # Process ids that have started to connect.


class Client:
    def __init__(self):
        self._library = library.load()
        options = ClientOptions(struct_size=sizeof(ClientOptions))
        if not os.environ.get("STOKER_DAEMON"):
            options.stokerd = library.encode(library.find_program("stokerd"))
        assembler = library.find_assembler()
        if assembler and not os.environ.get("STOKER_NVJITLINK"):
            os.environ["STOKER_NVJITLINK"] = str(assembler)  # A private daemon inherits it.
        self._handle = library.make_handle(self._library.stoker_client_create, byref(options))
        atexit.register(self._flush)

    @property
    def handle(self):
        """libstoker's handle."""
        return self._handle

    def _flush(self):
        library.check(self._library.stoker_client_flush(self._handle, FLUSH_TIMEOUT_MS))

    def get(self, path):
        """The daemon's answer to GET `path`."""
        return library.take_text(self._library.stoker_client_get, self._handle, path.encode())

    def describe(self):
        """Where the daemon is, whether it answers, and what this machine is, as a dictionary."""
        return json.loads(library.take_text(self._library.stoker_client_describe, self._handle))

    @functools.cached_property
    def target(self):
        """What artifacts are compiled for on this machine's processor."""
        return library.take_text(self._library.stoker_device_target, None)

    @functools.cached_property
    def processor(self):
        """All that this machine's processor can run, as a target; `target` is less where STOKER_TARGET names it."""
        return library.take_text(self._library.stoker_processor)

    def target_of(self, device):
        """The same for a device by name, "cuda:0"."""
        return library.take_text(self._library.stoker_device_target, device.encode())

    def compiler_epoch(self):
        """Which compiler the daemon has. Starts a private daemon, if one is needed; StokerError if none answers."""
        return library.take_text(self._library.stoker_client_compiler_epoch, self._handle)

    def report(self, counters, fallback_ops):
        text = json.dumps({"counters": counters, "fallback_ops": fallback_ops})
        library.check(self._library.stoker_client_report(self._handle, text.encode()))

    def compile(self, text, numerics=None, verify=False, progress=None, device=None):
        """The handle of a loaded executable for a graph's text. `numerics`: "highest" (the default), "high" or
        "medium"; `verify`: its first run beside the interpreter; `device`: where it runs, "cuda:0"; None: on the CPU."""
        # Where nobody listens there is none: what a signal's handler raises as one begins is lost.
        progress = progress or (_log_progress if logger.isEnabledFor(logging.INFO) else None)
        options = CompileOptions(
            struct_size=sizeof(CompileOptions), numerics=library.encode(numerics), device=library.encode(device),
            verify=int(verify), progress=ProgressFunction(progress) if progress else ProgressFunction())
        with self._parsed(text) as graph:
            return library.make_handle(
                self._library.stoker_compile, self._handle, graph, byref(options))

    def record(self, text, numerics=None, device=None):
        """Writes what compile() would ask for into the manifest that STOKER_RECORD names, and asks for nothing."""
        options = CompileOptions(
            struct_size=sizeof(CompileOptions), numerics=library.encode(numerics), device=library.encode(device))
        with self._parsed(text) as graph:
            library.check(self._library.stoker_record_request(self._handle, graph, byref(options)))

    @contextlib.contextmanager
    def _parsed(self, text):
        """The handle of a graph."""
        encoded = text.encode()
        graph = library.make_handle(self._library.stoker_graph_parse, encoded, len(encoded))
        try:
            yield graph
        finally:
            self._library.stoker_graph_free(graph)

    def load(self, request_key, numerics=None, device=None):
        """The handle of a loaded executable; StokerError when no tier has its artifact. `numerics`: what it would be
        compiled with now, for a manifest; `device`: as of compile."""
        return library.make_handle(
            self._library.stoker_load, self._handle, request_key.encode(), library.encode(numerics),
            library.encode(device))


def _log_progress(context, stage, done, total, detail, elapsed):
    logger.info(
        "%s %d/%d %s (%.1f s)", library.decode(stage), done, total, library.decode(detail), elapsed)


def client():
    """The client of this process, made at the first call."""
    pid = os.getpid()
    if pid not in _clients:
        with _lock():
            if pid not in _clients:
                _clients[pid] = Client()
    return _clients[pid]


def connect_ahead():
    """Starts a private daemon, if one is needed, while PyTorch is still tracing."""
    pid = os.getpid()
    with _lock():
        if pid in _ahead:
            return
        _ahead.add(pid)
    background.start("stoker-connect", "no daemon is started ahead", _connect)


def _connect():
    try:
        client().compiler_epoch()  # The job's first question: it has its answer, or has been waited for already.
    except StokerError as error:
        logger.info("no daemon yet: %s", error)  # The compile says it to the user.


def report(counters, fallback_ops=()):
    """Tells the daemon, for its statistics."""
    try:
        client().report(counters, dict.fromkeys(fallback_ops, 1))
    except StokerError as error:
        logger.info("the daemon does not take counters: %s", error)


def status():
    """The daemon's status as a dictionary."""
    text = client().get("/status")
    try:
        return json.loads(text)
    except ValueError as error:
        let_through(error)
        raise StokerError(DATA_LOSS, f"/status of the daemon is no JSON: {error}.") from None
