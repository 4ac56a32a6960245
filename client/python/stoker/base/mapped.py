"""Files of compiled code that are loaded into this process, and where (Linux: proc(5), elf(5))."""

import functools
import re
import struct

from .signals import let_through

_MAPS = "/proc/self/maps"
_LINE = rb"^(\w+)-(\w+) (\S{4}) \S+ \S+ \S+ *(/.+)?$"  # Not [stack] and the like.

_LOAD = 1  # A kind of a part of an ELF file of 64 bits: what lies in memory.


def mapped():
    """[(begin, end, path)] of the parts of memory that lie in files of which some part may run, and of those that may run and
    lie in no file, path ""."""
    try:
        with open(_MAPS, "rb") as file:
            found = re.findall(_LINE, file.read(), re.MULTILINE)
    except OSError as error:
        let_through(error)
        return []
    run = {path for _, _, rights, path in found if b"x" in rights}
    return [
        (int(begin, 16), int(end, 16), path.decode(errors="surrogateescape")) for begin, end, rights, path in found
        if path in run and (path or b"x" in rights)]


@functools.cache
def length_of(path):
    """How many bytes of memory a file of compiled code takes, with what begins as zeros and is not in the file; 0 where it is
    none."""
    try:
        with open(path, "rb") as file:
            ends = [address + length for kind, _, _, address, _, _, length, _ in _parts(file) if kind == _LOAD]
    except (OSError, struct.error) as error:
        let_through(error)
        return 0
    return max(ends, default=0)


def _parts(file):
    """Of each: kind, rights, place in the file, in memory, (physical), length in the file, in memory, alignment."""
    header = file.read(64)
    if header[:6] != b"\x7fELF\x02\x01":
        return []
    first, size, count = (struct.unpack_from(form, header, at)[0] for form, at in (("<Q", 32), ("<H", 54), ("<H", 56)))
    file.seek(first)
    table = file.read(size * count)
    return [struct.unpack_from("<IIQQQQQQ", table, at * size) for at in range(count)]


@functools.cache
def contains(path, text):
    """Is it among the bytes of the file?"""
    import mmap  # Where the extension looks at memory, nobody waits for this.

    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(text) >= 0
    except (OSError, ValueError) as error:  # It is gone, or empty.
        let_through(error)
        return False
