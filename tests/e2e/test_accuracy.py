"""Results err no more than eager PyTorch's: products whatever the scales of their channels (accuracy_job.py), sums and
statistics however long and far from zero (sums_job.py). With AMX tiles where there are some, and without."""

import json
import pathlib
import subprocess
import sys

import pytest
from e2e import forked

# Of the spacing of float32. Eager's own error is smaller by chance for some sizes of products, and by f64 in variances.
FLOORS = {"accuracy_job.py": 2, "sums_job.py": 3}
CASES = {"accuracy_job.py": 63, "sums_job.py": 58}
TESTS = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("name", FLOORS)
@pytest.mark.parametrize("tiles", ("as it is", "without AMX"))
def test_errors(site, name, tiles):
    job = [forked.python(), str(TESTS / "e2e" / name)]
    if tiles == "without AMX":
        if "amx_tile" not in pathlib.Path("/proc/cpuinfo").read_text():
            pytest.skip("this processor has none")
        job = [sys.executable, str(TESTS / "without_amx.py"), *job]
    done = subprocess.run(job, env=site.env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    errors = json.loads(done.stdout.splitlines()[-1])
    assert len(errors) == CASES[name]
    worse = [row for row in errors if not row[2] <= max(2 * row[1], FLOORS[name])]
    assert not worse, worse
