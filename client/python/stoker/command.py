"""The command line: the program `stoker` that lies beside libstoker."""

import os
import sys

from .libstoker.library import StokerError, find_program


def main():
    try:
        program = find_program("stoker")
    except StokerError as error:
        sys.exit(f"stoker: {error}")
    if program is None:
        sys.exit("stoker: the command line program is not beside libstoker.so.")
    os.environ.setdefault("STOKER_PYTHON", sys.executable)  # `stoker warm model.pt2` needs PyTorch.
    os.execv(program, [str(program), *sys.argv[1:]])
