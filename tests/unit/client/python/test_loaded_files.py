"""Which loaded files of compiled code may hold kernels: as the extension sees them in memory, beside what lies on disk."""

import os

import pytest
import torch

from stoker.base.mapped import contains, mapped, needed_by
from stoker.libstoker.extension import extension

pytestmark = pytest.mark.skipif(extension() is None, reason="stoker_guards is not built")
LIBRARIES = (b"libtorch", b"libc10")
ROOT = os.path.join(os.path.dirname(torch.__file__), "")


@pytest.mark.parametrize("text", [b"\0aten\0", b"pybind11", b"\0a text that nothing holds\0"])
def test_files_are_those_on_disk(text):
    expected = {
        path for _, _, path in mapped() if path and contains(path, text)
        and any(os.fsencode(name).startswith(LIBRARIES) for name in needed_by(path))}
    found = extension().files_that_hold(LIBRARIES, b"/nowhere/", text)
    assert set(map(os.path.realpath, found)) == set(map(os.path.realpath, expected))
    assert bool(found) is (b"nothing" not in text)


def test_those_below_a_folder_are_left_out():
    found = extension().files_that_hold(LIBRARIES, os.fsencode(ROOT), b"pybind11")
    assert not [path for path in found if path.startswith(ROOT)]


@pytest.mark.parametrize("words", [(), (1, b"", b""), ((1,), b"", b""), ((), "", b"")])
def test_other_words_are_refused(words):
    with pytest.raises(TypeError):
        extension().files_that_hold(*words)
