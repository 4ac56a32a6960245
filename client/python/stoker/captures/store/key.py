"""CaptureKey: what a frame is before anything of it ran. Never a path, a rank or an address."""

import contextlib
import hashlib
import platform
import sys
import types
from typing import NamedTuple

import torch

from ...base import background
from ...libstoker.library import StokerError
from ...pytorch import installation
from ...pytorch.marks import wrapped_by
from ...pytorch.modules import held_modules
from ...pytorch.optimizers.states import is_optimizer, outline_of
from ..words.digests import digest_of
from ..words.held import held, module_name_of
from ..words.unread import names_called
from . import frontend

FORMAT = 23  # Of captures: raised when an older frontend would misread one, or a newer one distrust it.
_MAX_DEPTH = 6  # Of containers in arguments.
_ahead = None  # The thread that digests, or has.


class CaptureKey(NamedTuple):
    digest: str  # 64 hexadecimal digits.
    fields: tuple  # (tag, text), in key order.

    @property
    def entry(self):
        return self.fields[0][1]


def key_of(code, module_name, local_values, options, target, processor, compiler, describe):
    """The key of a frame of `code` about to run. `options`: text; `target`: what kernels are compiled for; `processor`:
    what PyTorch may have chosen an operator by; `compiler`: the daemon's epoch."""
    modules = {
        name: value for name, value in sorted(local_values.items())
        if isinstance(value, torch.nn.Module)}
    describe.called = names_called(code, {type(held) for module in modules.values() for _, held in held_modules(module)})
    fields = (
        ("entry", _entry_of(code, module_name, local_values)),
        ("entry.code", describe(code)[1]),
        ("modules", _classes_text(modules, describe)),
        ("inputs", _inputs_text(local_values)),
        ("options", options),
        ("processor", processor),
        ("python", f"{platform.python_implementation()} {platform.python_version()}{sys.abiflags}"),
        *makers(target, compiler),
    )
    return key_of_fields(fields)


def _entry_of(code, module_name, local_values):
    """What the program compiled, as it is named."""
    wrapped = wrapped_by(module_name, local_values)
    if wrapped is None:
        return f"{module_name}:{code.co_qualname}"
    named = held(wrapped, "__func__") or wrapped
    if not isinstance(held(named, "__qualname__"), str):
        named = type(wrapped)
    method = ".forward" if isinstance(wrapped, torch.nn.Module) else ""
    return f"{module_name_of(named)}:{held(named, '__qualname__')}{method}"


def makers(target, compiler):
    """Fields: what traces, records and compiles. Mended, it has another digest, and serves nothing of before."""
    if _ahead is not None:
        _ahead.join()  # At once in a forked process, which has no such thread, and digests anew.
    torch_code, recorder = _digest_makers()
    return (
        ("target", target),
        ("compiler", compiler),
        ("torch", installation.version()),
        ("torch.code", torch_code),
        ("frontend", recorder),
    )


def digest_ahead():
    """Reads what makers() digests in a thread, while the program goes on to its first call."""
    global _ahead
    if _ahead is None:
        _ahead = background.start("stoker-digests", "a start is slower", _try_to_digest)


def _try_to_digest():
    with contextlib.suppress(OSError, StokerError):  # The call that needs them says what is wrong.
        _digest_makers()


def _digest_makers():
    return installation.digest(), recorder_text()


def recorder_text():
    return f"format {FORMAT}, {frontend.digest()}"


def key_of_fields(fields):
    """`fields`: (tag, text) of each; the first one names what the key is of."""
    hasher = hashlib.sha256(b"stoker.CaptureKey\0")
    for tag, text in fields:
        for part in (tag, text):
            data = part.encode(errors="surrogatepass")
            hasher.update(len(data).to_bytes(8, "little"))
            hasher.update(data)
    return CaptureKey(hasher.hexdigest(), fields)


def options_text(dynamic):
    """What torch.compile() was asked for that a capture depends on: no mode changes one, and what is verified has
    none."""
    return f"dynamic={dynamic}"


def _classes_text(modules, describe):
    """The class tree of each module: how many of which class, and a digest of where each stands."""
    texts = []
    for local_name, module in modules.items():
        words, counts = [], {}
        for name, child in held_modules(module):
            path, digest = describe.class_words(type(child))
            words.append(f"{name} {path} {digest}")
            counts[path] = counts.get(path, 0) + 1
        kinds = ", ".join(f"{count} {path.rpartition(':')[2]}" for path, count in counts.items())
        texts.append(f"{local_name}: {kinds} ({digest_of(*words)})")
    return "; ".join(texts)


def _inputs_text(local_values):
    return ", ".join(
        f"{name}: {_tree(value, 0)}" for name, value in sorted(local_values.items())
        if not isinstance(value, torch.nn.Module))


def _tree(value, depth):
    """The kinds of things in an argument, not their values."""
    kind = type(value)
    if depth < _MAX_DEPTH:
        if kind in (tuple, list):
            return f"{kind.__name__}({', '.join(_tree(item, depth + 1) for item in value)})"
        if kind is dict:
            items = ", ".join(f"{key!r}: {_tree(item, depth + 1)}" if isinstance(key, str) else
                              f"{type(key).__name__}: {_tree(item, depth + 1)}"
                              for key, item in value.items())
            return f"dict({items})"
    if isinstance(value, types.FunctionType):
        return "function"
    if is_optimizer(value):
        return f"{kind.__qualname__}({digest_of(outline_of(value))})"
    return kind.__qualname__
