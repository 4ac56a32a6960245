"""check_paths.py on single lines. The forbidden text is put together here, not to be found itself."""

import pytest

from check_paths import complaints


@pytest.mark.parametrize("line", [
    "see /" + "work/main/README.md",
    "cd '/" + "home/alice/src'",
    "http://deb." + "debian.org/debian",
    "index-url = https://pypi" + ".org/simple",
])
def test_Complaints_MachinePathOrHost_Named(line):
    found = complaints({"docs/a.md": "fine\n" + line + "\n"})
    assert len(found) == 1 and found[0].startswith("docs/a.md:2: "), found


@pytest.mark.parametrize("line", [
    "${HOME}/" + "work/x", "tests/" + "work/x", "/usr/lib/llvm-22", "~/.cache/stoker", "/tmp/x",
])
def test_Complaints_PathTrueAnywhere_None(line):
    assert complaints({"docs/a.md": line}) == []
