"""A program's own compiled code: what its classes do, and its kernels, no capture and no rule knows."""

import pathlib
import subprocess
import sysconfig

import pytest
import torch
from e2e import extension_source, kernel_source
from e2e.hits import start

pytestmark = pytest.mark.together
HERE = pathlib.Path(__file__).parent
TORCH = pathlib.Path(torch.__file__).parent / "lib"


def build(source, path, *options, language="c"):
    subprocess.run(["cc", "-shared", "-fPIC", "-x", language, "-", *options, "-o", str(path)], input=source, text=True, check=True)


@pytest.mark.parametrize("kind", ["extension.Kind", "extension_job.Kind", "collections.Kind", "torch.Kind", "Kind"])
def test_what_its_classes_do_stays_local(site, tmp_path, kind):
    """Whatever module they say they are from."""
    for truth in (1, 0):
        build(
            extension_source.SOURCE, tmp_path / "extension.so", f"-I{sysconfig.get_path('include')}", f"-DTRUTH={truth}",
            f'-DKIND="{kind}"')
        assert start(site, HERE / "extension_job.py", tmp_path) <= {"of_nothing"}
        assert start(site, HERE / "extension_job.py", tmp_path) == {"of_nothing"}


LINKED = (f"-L{TORCH}", "-Wl,--no-as-needed", "-ltorch_cpu")


@pytest.mark.parametrize("options", [(), ('-DFROM="generated_from.py"',)], ids=["", "from_python"])
def test_its_kernels_of_pytorchs_operators_run(site, tmp_path, options):
    build(kernel_source.SOURCE, tmp_path / "kernel.so", "-O2", *options, *LINKED, "-lstdc++", language="c++")
    kernels_run(site, tmp_path / "kernel.so")


def test_its_kernels_run_though_their_file_names_none_of_pytorchs(site, tmp_path):
    """What loads that does."""
    build(kernel_source.SOURCE, tmp_path / "libkernel.so", "-O2", "-lstdc++", language="c++")
    build("", tmp_path / "loads.so", *LINKED, f"-L{tmp_path}", "-lkernel", f"-Wl,-rpath,{tmp_path}")
    kernels_run(site, tmp_path / "loads.so")


def kernels_run(site, path):
    everything = {"of_that_operator", "of_another"}
    assert start(site, HERE / "kernel_job.py") == set() and start(site, HERE / "kernel_job.py") == everything
    for _ in range(2):
        assert start(site, HERE / "kernel_job.py", path) == set()
    assert start(site, HERE / "kernel_job.py") == everything


def test_its_kernels_run_though_it_registers_them_when_it_is_asked(site, tmp_path):
    build(kernel_source.SOURCE, tmp_path / "kernel.so", "-O2", "-DWHEN_ASKED", *LINKED, "-lstdc++", language="c++")
    assert start(site, HERE / "kernel_job.py") == set()
    assert start(site, HERE / "kernel_job.py", tmp_path / "kernel.so", "ask") == {"of_another"}
