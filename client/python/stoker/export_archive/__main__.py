"""What `stoker warm model.pt2` runs: writes what jobs that run an archive's programs will ask for into the manifest
that STOKER_RECORD names. Lines for people go to standard error; 1 if the archive is refused, and 2 for wrong usage.
"""

import argparse
import importlib
import logging
import os
import sys
import warnings


def main(words=None):
    """The exit status."""
    arguments = _arguments(words)
    if not os.environ.get("STOKER_RECORD"):
        print("stoker: STOKER_RECORD does not name the manifest to write.", file=sys.stderr)
        return 2
    # PyTorch's remarks about a program are for who exports it.
    warnings.simplefilter("ignore")
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    from ..libstoker.library import StokerError
    from .errors import ArchiveError

    try:
        _record(arguments)
    except ArchiveError as error:
        tell(f"{arguments.archive}: {error}")
    except StokerError as error:
        tell(str(error))
    else:
        return 0
    return 1


def _arguments(words):
    parser = argparse.ArgumentParser(prog="python -m stoker.export_archive", description=__doc__)
    parser.add_argument("archive", help="of torch.export.save")
    parser.add_argument("--size", action="append", default=[], metavar="[MODEL:]INPUT.DIM=N[,N...]",
                        help="for other sizes than it was exported with")
    parser.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE",
                        help="that registers operators or classes which the program uses")
    parser.add_argument("--no-grad-only", action="store_true", help="not for jobs that compute gradients")
    return parser.parse_args(words)


def _record(arguments):
    from ..pytorch import exported, facts
    from ..pytorch.names import EXPORTED
    from . import calls
    from .archive import Archive
    from .errors import ArchiveError

    archive = Archive(arguments.archive)
    missing = facts.first_difference(EXPORTED)
    if missing is not None:
        raise ArchiveError(f"This PyTorch does not read such archives as those that were tested: {missing}.")
    choices = [calls.Choice(text) for text in arguments.size]
    known = exported.namespaces()
    for name in arguments.modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ArchiveError(f"--import {name}: {error}.") from None
    brought = exported.namespaces() - known
    for name, program in archive.models().items():
        _record_model(archive, name, program, choices, brought, not arguments.no_grad_only)
    for choice in choices:
        if not choice.was_used:
            raise ArchiveError(f"--size {choice.text}: no program has an input '{choice.input}'.")


def _record_model(archive, name, program, choices, brought, with_gradients):
    from ..pytorch import exported
    from . import stand_ins, trace
    from .calls import Calls
    from .checked import Registered, checked
    from .errors import ArchiveError

    program = checked(program, Registered(brought, exported.has_operator, exported.has_tree_type))
    made = Calls(program).all([choice for choice in choices if choice.is_for(name)])
    weights = stand_ins.tensors(archive.weights(name), archive.weight_bytes)
    constants = stand_ins.tensors(archive.constants(name), archive.constant_bytes)
    try:
        module = exported.module_of(program, weights, constants)
        for mode in (False, True) if with_gradients else (False,):
            _say(name, mode, made, trace.record(module, made, mode))
    except Exception as error:
        refusal = _first_stoker_error(error)
        if refusal is not None:
            raise refusal from None
        raise ArchiveError(f"PyTorch does not take model '{name}': {_in_a_line(error)}") from error


def _say(name, with_gradients, made, recorded):
    sizes = "; ".join(filter(None, (text for text, _, _ in made)))
    sizes = f" ({sizes})" if sizes else ""
    mode = "with gradients" if with_gradients else "no gradients"
    count = len(recorded.requests)
    tell(f"model '{name}'{sizes}, {mode}: {count} {'request' if count == 1 else 'requests'}")
    if not with_gradients:
        for what in dict.fromkeys(recorded.eager):
            tell(f"model '{name}': {what} is left to PyTorch")


def tell(text, most=2000):
    """One line for people. What an archive says must not steer their terminal."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:most])
    print(f"stoker: {shown}", file=sys.stderr)


def _first_stoker_error(error):
    """What Dynamo has wrapped."""
    from ..libstoker.library import StokerError

    while error is not None:
        if isinstance(error, StokerError):
            return error
        error = error.__cause__ or getattr(error, "inner_exception", None)
    return None


def _in_a_line(error, most=400):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if len(lines) > 1:
        text = f"{text[:most // 2]} ... {lines[-1]}"
    return f"{type(error).__name__}: {text[:most]}"


if __name__ == "__main__":
    sys.exit(main())
