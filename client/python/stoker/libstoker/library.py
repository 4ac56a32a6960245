"""libstoker over ctypes: the C interface of client/include/stoker/stoker.h and nothing else."""

import ctypes
import os
import re
import sys
from ctypes import (
    CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
    c_uint32, c_uint64, c_void_p, sizeof)
from functools import cache
from pathlib import Path

from ..base.signals import let_through

ABI_VERSION = 5

CODES = {
    1: "invalid argument", 2: "not found", 3: "unimplemented", 4: "resource exhausted",
    5: "unavailable", 6: "deadline exceeded", 7: "data loss", 8: "failed precondition",
    9: "internal error",
}
INVALID_ARGUMENT = 1
RESOURCE_EXHAUSTED = 4
UNAVAILABLE = 5
DEADLINE_EXCEEDED = 6
DATA_LOSS = 7
FAILED_PRECONDITION = 8
INTERNAL = 9
REQUEST = re.compile(r" \(request ([\w.-]+)\)")  # In a message.


class StokerError(Exception):
    """A failed call; `code` is one of the CODES, `kind` what it stands for. `request_id` is what the daemon's log
    calls the request, or None; it is no part of the text, which is the same for the same failure."""

    def __init__(self, code, message):
        self.code = code
        self.kind = CODES.get(code, str(code))
        named = REQUEST.search(message)
        self.request_id = named and named[1]
        super().__init__(f"{self.kind}: {REQUEST.sub('', message)}")


class LibraryNotFound(StokerError):
    def __init__(self, message):
        super().__init__(UNAVAILABLE, message)


class ClientOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("url", c_char_p), ("name_space", c_char_p),
        ("cache_dir", c_char_p), ("stokerd", c_char_p), ("connect_timeout_ms", c_int64),
        ("compile_timeout_ms", c_int64)]


ProgressFunction = CFUNCTYPE(
    None, c_void_p, c_char_p, c_uint32, c_uint32, c_char_p, c_double)


class CompileOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("numerics", c_char_p), ("verify", c_int32),
        ("target", c_char_p), ("progress", ProgressFunction),
        ("progress_context", c_void_p), ("device", c_char_p)]


# (context, number, operands, results, sizes): what runs operators of the host framework.
HostFunction = CFUNCTYPE(
    c_int32, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_int64))

# (context, turn): what happens before a step of a run.
TurnFunction = CFUNCTYPE(c_int32, c_void_p, c_size_t)

# (context, stream): gives a host call to the stream.
GiveFunction = CFUNCTYPE(c_int32, c_void_p, c_void_p)

# (context, ordinal, bytes, stream), (context, ordinal, memory, stream): memory of GPUs that calls work in.
AllocateFunction = CFUNCTYPE(c_void_p, c_void_p, c_int32, c_size_t, c_void_p)
FreeFunction = CFUNCTYPE(None, c_void_p, c_int32, c_void_p, c_void_p)

_POINTERS = POINTER(c_void_p)
_TEXT = POINTER(c_void_p)
_INT64S = POINTER(c_int64)

# Function -> (result, arguments). c_void_p stands for every handle and for text that we free.
_SIGNATURES = {
    "stoker_abi_version": (c_uint32, []),
    "stoker_version": (c_char_p, []),
    "stoker_status_code": (c_int, [c_void_p]),
    "stoker_status_message": (c_char_p, [c_void_p]),
    "stoker_status_free": (None, [c_void_p]),
    "stoker_client_create": (c_void_p, [POINTER(ClientOptions), _POINTERS]),
    "stoker_client_free": (None, [c_void_p]),
    "stoker_client_flush": (c_void_p, [c_void_p, c_int64]),
    "stoker_client_get": (c_void_p, [c_void_p, c_char_p, _TEXT]),
    "stoker_device_target": (c_void_p, [c_char_p, _TEXT]),
    "stoker_processor": (c_void_p, [_TEXT]),
    "stoker_device_warm_up": (c_void_p, [c_char_p]),
    "stoker_client_describe": (c_void_p, [c_void_p, _TEXT]),
    "stoker_client_compiler_epoch": (c_void_p, [c_void_p, _TEXT]),
    "stoker_client_report": (c_void_p, [c_void_p, c_char_p]),
    "stoker_client_find_captures": (c_void_p, [c_void_p, c_char_p, c_char_p, _POINTERS]),
    "stoker_captures_count": (c_size_t, [c_void_p]),
    "stoker_captures_data": (c_void_p, [c_void_p, c_size_t, POINTER(c_size_t)]),
    "stoker_captures_digest": (c_char_p, [c_void_p, c_size_t]),
    "stoker_captures_miss_reason": (c_char_p, [c_void_p]),
    "stoker_captures_damaged": (c_size_t, [c_void_p]),
    "stoker_captures_untrusted": (c_size_t, [c_void_p]),
    "stoker_captures_free": (None, [c_void_p]),
    "stoker_client_put_capture": (
        c_void_p, [c_void_p, c_char_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "stoker_client_record_capture": (
        c_void_p, [c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, c_size_t]),
    "stoker_client_drop_capture": (c_void_p, [c_void_p, c_char_p, c_char_p]),
    "stoker_client_note_capture": (
        c_void_p, [c_void_p, c_char_p, c_char_p, c_char_p, c_char_p]),
    "stoker_list_files": (c_void_p, [c_char_p, c_char_p, c_char_p, _TEXT]),
    "stoker_text_free": (None, [c_void_p]),
    "stoker_graph_parse": (c_void_p, [c_char_p, c_size_t, _POINTERS]),
    "stoker_graph_free": (None, [c_void_p]),
    "stoker_compile": (c_void_p, [c_void_p, c_void_p, POINTER(CompileOptions), _POINTERS]),
    "stoker_record_request": (c_void_p, [c_void_p, c_void_p, POINTER(CompileOptions)]),
    "stoker_load": (c_void_p, [c_void_p, c_char_p, c_char_p, c_char_p, _POINTERS]),
    "stoker_executable_free": (None, [c_void_p]),
    "stoker_executable_describe": (c_void_p, [c_void_p, _TEXT]),
    "stoker_set_num_threads": (None, [c_int32]),
    "stoker_set_device_allocator": (c_void_p, [AllocateFunction, FreeFunction, c_void_p]),
    "stoker_sample": (c_uint64, [c_void_p, c_void_p, c_size_t]),
    "stoker_hash": (c_uint64, [c_void_p, c_void_p, c_size_t]),
    "stoker_executable_bind": (c_void_p, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]),
    "stoker_executable_set_host": (None, [c_void_p, HostFunction, c_void_p]),
    "stoker_executable_record_host_call": (
        c_void_p, [c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, GiveFunction, c_void_p, POINTER(c_int32)]),
    "stoker_executable_forget_host_calls": (None, [c_void_p]),
    "stoker_kept_host_calls": (c_size_t, []),
    "stoker_executable_unbind": (None, [c_void_p]),
    "stoker_executable_repairs": (c_int64, [c_void_p]),
    "stoker_executable_run": (
        c_void_p,
        [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
    "stoker_executable_run_in_turns": (
        c_void_p,
        [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, TurnFunction,
         c_void_p]),
    "stoker_executable_profile": (
        c_void_p,
        [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, _TEXT]),
}


def _trees():
    """Folders that hold lib/ and bin/: the wheel's own, else the build folders of a source tree."""
    package = Path(__file__).resolve().parents[1]
    yield package
    source = package.parents[2]
    for preset in ("dev", "release"):
        yield source / "build" / preset


def find_library():
    chosen = os.environ.get("STOKER_LIBRARY")
    if chosen:
        return Path(chosen)
    for tree in _trees():
        path = tree / "lib" / "libstoker.so.0"
        if path.exists():
            return path
    raise LibraryNotFound(
        "libstoker.so.0 is neither in the package nor in a build folder of the source tree; "
        "STOKER_LIBRARY names it.")


def find_program(name):
    """The path of stokerd or stoker beside the library, or None."""
    library = find_library().resolve()
    for folder in (library.parent, library.parent.parent / "bin"):
        if (folder / name).exists():
            return folder / name
    return None


def find_assembler():
    """nvJitLink, which compiles for GPUs need, among the packages that PyTorch for CUDA brings; or None."""
    for folder in sys.path:
        for path in sorted(Path(folder, "nvidia").glob("*/lib/libnvJitLink.so.1[23]"), reverse=True):
            return path
    return None


@cache
def load():
    """The library with typed functions."""
    path = find_library()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        let_through(error)
        raise LibraryNotFound(f"{path} does not load: {error}.") from None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.stoker_abi_version() != ABI_VERSION:
        raise LibraryNotFound(
            f"{path} has ABI version {library.stoker_abi_version()}, not {ABI_VERSION}.")
    return library


def check(status):
    """Raises the error that a status says, and frees it."""
    if status:
        library = load()
        code = library.stoker_status_code(status)
        message = decode(library.stoker_status_message(status))
        library.stoker_status_free(status)
        raise StokerError(code, message)


def take_text(call, *arguments):
    """The text that call(*arguments, &text) gives, which is freed."""
    text = c_void_p()
    check(call(*arguments, byref(text)))
    return taken(text)


def taken(text):
    """What C's text says, which is freed."""
    try:
        return decode(ctypes.string_at(text.value))
    finally:
        load().stoker_text_free(text)


def decode(text):
    """Text of C, in which a daemon may have put any bytes."""
    return (text or b"").decode(errors="replace")


def encode(text):
    return None if text is None else os.fsencode(text)


def make_handle(call, *arguments):
    """The handle that call(*arguments, &handle) gives."""
    handle = c_void_p()
    check(call(*arguments, byref(handle)))
    return handle


__all__ = [
    "ClientOptions", "CompileOptions", "GiveFunction", "HostFunction", "LibraryNotFound", "ProgressFunction", "StokerError",
    "check", "decode", "encode", "find_assembler", "find_library", "find_program", "load", "make_handle", "sizeof",
    "take_text", "taken"]
