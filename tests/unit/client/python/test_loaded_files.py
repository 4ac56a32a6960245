"""Which loaded files of compiled code may hold kernels: as the extension sees them in memory, beside what lies on disk."""

import ctypes
import os
import shutil
import subprocess

import pytest
import torch

from stoker.base.mapped import contains, mapped
from stoker.libstoker.extension import extension

pytestmark = pytest.mark.skipif(extension() is None, reason="stoker_guards is not built")
SYMBOLS = (b"torch", b"3c10")
ROOT = os.path.join(os.path.dirname(torch.__file__), "")


def registering(space, folder=b"/nowhere/"):
    return {os.path.realpath(path) for path in extension().files_that_may_register(SYMBOLS, folder, space)}


def test_files_are_those_on_disk():
    expected = {
        os.path.realpath(path) for _, _, path in mapped() if path and contains(path, b"pybind11")
        and any(contains(path, symbol) for symbol in SYMBOLS)}
    assert expected and registering(b"pybind11") == expected
    assert not registering(b"a namespace that nothing names")


def test_those_below_a_folder_are_left_out():
    assert not [path for path in registering(b"pybind11", os.fsencode(ROOT)) if path.startswith(ROOT)]


SOURCE = """
#include <string>
struct Library { std::string name; };
namespace torch { struct Library { __attribute__((weak, visibility("default"))) void _impl(const char*); }; }
extern "C" void* make(const char* more) { return new Library{%s}; }
char variable[] = %s;
extern "C" void use(torch::Library& library) { library._impl(%s); }
"""


@pytest.mark.parametrize("made, held, used, is_seen", [
    ('"zqxj"', '""', '""', True),  # A short text, which may stand in an instruction alone.
    ('"libzqxj"', '""', '""', True),  # Of two texts, of which one is the end of the other, one may be left.
    ('""', '"zqxj"', '""', True),
    ('""', '""', '"zqxj::sin"', True),
    ('""', '""', '""', False)])
@pytest.mark.parametrize("options", [["-O0"], ["-O3"], ["-O3", "-fvisibility=hidden"]], ids=" ".join)
def test_a_namespace_is_seen_however_it_was_compiled(tmp_path, made, held, used, is_seen, options):
    compiler = shutil.which("clang++-22") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no compiler of C++ is installed")
    (tmp_path / "made.cc").write_text(SOURCE % (made, held, used))
    path = tmp_path / "made.so"
    # It asks for torch::Library, and does not say that PyTorch's libraries have that.
    subprocess.run([compiler, *options, "-shared", "-fPIC", "-o", path, tmp_path / "made.cc"], check=True)
    library = ctypes.CDLL(str(path))
    path.unlink()  # What was loaded counts.
    assert (str(path) in extension().files_that_may_register(SYMBOLS, b"/nowhere/", b"zqxj")) is is_seen
    del library


@pytest.mark.parametrize("words", [(), (1, b"", b""), ((1,), b"", b""), ((), "", b"")])
def test_other_words_are_refused(words):
    with pytest.raises(TypeError):
        extension().files_that_may_register(*words)
