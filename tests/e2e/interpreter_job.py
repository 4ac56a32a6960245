"""What frames compute by settings of Python's that no object holds: one JSON line, {function: [result, result of eager, was it a hit?]}.

usage: interpreter_job.py [STATEMENT]   (which runs before the first call)
"""

import codecs
import collections
import ctypes
import json
import os
import sys

import torch
from compared import compared

SMALL, THREE = 1e-160, 3.0
PROCESSES = collections.defaultdict(os.getpid)
LISTS = collections.defaultdict(list)
HELD = {"inner": collections.defaultdict(os.getcwd)}


def register(name, length):
    def encode(text, errors="strict"):
        return b"x" * length, len(text)

    codecs.register(lambda asked: codecs.CodecInfo(encode, None, name=name) if asked == name else None)


def set_rounding_up():
    ctypes.CDLL("libm.so.6").fesetround(0x800)


def of_a_process(x):
    result = x.double() * PROCESSES["some"]
    PROCESSES.clear()
    return result


def of_a_folder(x):
    result = x * len(HELD["inner"]["some"])
    HELD["inner"].clear()
    return result


def of_a_list(x):
    result = x * (2 + len(LISTS["some"]))
    LISTS.clear()
    return result


def of_digits(x):
    try:
        return x * len(str(10**4500))
    except ValueError:
        return x - 1


def of_small_numbers(x):
    return x * (2 if SMALL * SMALL > 0 else 3)


def of_rounding(x):
    return x * (2 if 1 / THREE > 0.33333333333333331 else 3)


def of_a_codec(x):
    try:
        return x * len("abc".encode("stokertest"))
    except LookupError:
        return x - 1


def of_what_handles_errors(x):
    return x * len("a\xe9b".encode("ascii", "backslashreplace"))


def of_another_codecs_name(x):
    return x * len("abc".encode("stokeralias"))


def of_another_handlers_name(x):
    return x * len("a\xe9b".encode("ascii", "stokerhandler"))


def of_bytes_elsewhere(x):
    return x * (1 + len(str(ENCODED, "ascii", "stokerhandler")))


def of_bytes_made_elsewhere(x):
    return x * len(KINDS["bytes"]("abc", "stokeralias"))


ENCODED, KINDS = b"\xe9", {"bytes": bytes}
ALIASES = {"stokeralias": "utf-8"}
codecs.register(lambda asked: codecs.lookup(ALIASES[asked]) if asked in ALIASES else None)
codecs.register_error("stokerhandler", codecs.replace_errors)
exec(*sys.argv[1:2] or [""])
print(json.dumps(compared([
    of_a_process, of_a_folder, of_a_list, of_digits, of_small_numbers, of_rounding, of_a_codec, of_what_handles_errors,
    of_another_codecs_name, of_another_handlers_name, of_bytes_elsewhere, of_bytes_made_elsewhere])))
