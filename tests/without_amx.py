"""Runs a command as if the kernel gave nobody AMX tiles, as it does where they are not enabled.

usage: without_amx.py COMMAND [ARG...]

A filter of system calls refuses the permission that a process must ask for before it may use tiles; the processes that it
starts have the filter, too. What a processor says of itself stays as it is: libraries that ask for the permission do without
tiles, and one that did not ask would end by SIGILL.
"""

import ctypes
import errno
import os
import struct
import sys

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER_MODE = 22, 38, 2
_AUDIT_ARCH_X86_64, _ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM = 0xC000003E, 158, 0x1023
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
# Of struct seccomp_data, <linux/seccomp.h>.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_PROGRAM = (
    (_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 0, 5, _AUDIT_ARCH_X86_64),
    (_LOAD, 0, 0, _NUMBER), (_JUMP_IF_EQUAL, 0, 3, _ARCH_PRCTL),
    (_LOAD, 0, 0, _FIRST_ARGUMENT), (_JUMP_IF_EQUAL, 0, 1, _ARCH_REQ_XCOMP_PERM),
    (_RETURN, 0, 0, _ERRNO | errno.EPERM), (_RETURN, 0, 0, _ALLOW))


def refuse():
    """For this process and all that it starts; OSError where the kernel has no such filters."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in _PROGRAM))
    program = struct.pack("HxxxxxxQ", len(_PROGRAM), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            _PR_SET_SECCOMP, _FILTER_MODE, ctypes.c_char_p(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def main(command):
    if not command:
        raise SystemExit("usage: without_amx.py COMMAND [ARG...]")
    refuse()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
