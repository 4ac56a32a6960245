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


# Whatever module they say they are from.
KINDS = ["extension.Kind", "extension_job.Kind", "collections.Kind", "torch.Kind", "Kind"]


def test_what_its_classes_do_stays_local(site, tmp_path):
    of_kinds = [extension_source.OF_A_KIND.replace("NUMBER", str(number)) for number in range(len(KINDS))]
    (tmp_path / "of_kinds.py").write_text("\n".join(of_kinds))
    for truth in (1, 0):
        for name, kind in {"extension": KINDS[0], **{f"extension_{number}": kind for number, kind in enumerate(KINDS)}}.items():
            build(
                extension_source.SOURCE, tmp_path / f"{name}.so", f"-I{sysconfig.get_path('include')}", f"-DTRUTH={truth}",
                f"-DNAME={name}", f'-DKIND="{kind}"')
        assert start(site, HERE / "extension_job.py", tmp_path) <= {"of_nothing"}
        assert start(site, HERE / "extension_job.py", tmp_path) == {"of_nothing"}


LINKED = (f"-L{TORCH}", "-Wl,--no-as-needed", "-ltorch_cpu")
EVERYTHING = {"of_that_operator", "of_another"}


def test_its_kernels_of_pytorchs_operators_run(site, tmp_path):
    kernel("kernel", tmp_path)
    kernel("of_python", tmp_path, '-DFROM="generated_from.py"')
    # One whose file names none of PyTorch's: what loads it does.
    build(kernel_source.SOURCE, tmp_path / "libkernel.so", "-O2", "-lstdc++", language="c++")
    build("", tmp_path / "loads.so", *LINKED, f"-L{tmp_path}", "-lkernel", f"-Wl,-rpath,{tmp_path}")
    kernel("when_asked", tmp_path, "-DWHEN_ASKED")
    assert start(site, HERE / "kernel_job.py") == set() and start(site, HERE / "kernel_job.py") == EVERYTHING
    for name in ("kernel", "of_python", "loads"):
        found = [start(site, HERE / "kernel_job.py", tmp_path / f"{name}.so") for _ in range(2)]
        assert found == [set(), set()], name
    assert start(site, HERE / "kernel_job.py", tmp_path / "when_asked.so", "ask") == {"of_another"}
    assert start(site, HERE / "kernel_job.py") == EVERYTHING


def kernel(name, folder, *options):
    build(kernel_source.SOURCE, folder / f"{name}.so", "-O2", *options, *LINKED, "-lstdc++", language="c++")
