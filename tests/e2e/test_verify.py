"""options={"verify": True}: the first call runs beside the reference interpreter. Wrong kernels are planted between
daemon and job, in the daemon's name: the artifact of one graph comes under the key of another."""

import json
import subprocess

from e2e import forked, signatures
from e2e.processes import Between, Daemon
from e2e.test_wire import field, parts

SCRIPT = """
import json, sys
import torch
import stoker
from job import Warnings

warnings = Warnings()
x = torch.linspace(0, 1, 1000).reshape(10, 100)
results = {}
for name, function in (
        ("right", lambda x: torch.exp(x) * 2), ("planted", lambda x: torch.exp(x) * 2 + x * 0.25)):
    compiled = torch.compile(function, backend="stoker", options={"verify": json.loads(sys.argv[1])})
    results[name] = [(compiled(x) - function(x)).abs().max().item() for _ in range(2)]
print(json.dumps({**results, "warnings": warnings.messages, "counters": stoker.counters()}))
"""
REQUEST_KEY = slice(8, 40)  # Of an artifact.


def under_key_of(other, artifact, signing_key):
    """The artifact, as if it were that of the other one's request."""
    body = bytearray(signatures.body(artifact))
    body[REQUEST_KEY] = other[REQUEST_KEY]
    return signatures.signed(bytes(body), signing_key)


def run(site, url, verify):
    done = subprocess.run(
        [forked.python(), "-c", SCRIPT, json.dumps(verify)], env={**site.env, "STOKER_URL": url},
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_wrong_kernel_is_refused_and_a_right_one_is_not(site, tmp_path):
    site.env["PYTHONPATH"] += ":" + __file__.rpartition("/")[0]
    daemon = Daemon(tmp_path)
    found = []

    def plant(path, status, reply):
        if path != "/v1/lookup" or status != 200:
            return reply
        found.append(reply)
        artifact, blobs = parts(found[0])
        signing_key = daemon.folder / "cache" / "keys" / "signing.pem"
        return field(1, under_key_of(parts(reply)[0], artifact, signing_key)) + blobs

    between = Between(daemon, plant)
    try:
        sound = run(site, daemon.url, True)
        assert max(sound["right"] + sound["planted"]) < 1e-5 and sound["warnings"] == []
        assert sound["counters"]["artifacts_verified"] == 2
        assert not any(name.startswith("captures.") for name in sound["counters"])
        assert daemon.status()["stats"]["client"]["artifacts_verified"] == 2

        unseen = run(site, between.url, False)
        assert max(unseen["right"]) < 1e-5 and min(unseen["planted"]) > 0.2  # The fault is one.

        found.clear()
        seen = run(site, between.url, True)
        assert max(seen["right"] + seen["planted"]) < 1e-5
        warning, = seen["warnings"]
        assert "a compiled graph failed and runs in eager from now on" in warning
        assert "Verification refuses artifact " in warning and "more than 0.0001" in warning
        assert "Output 0 element [9,99] is 5.43656, and the interpreter's 5.68656" in warning
        counters = seen["counters"]
        assert counters["artifacts_verified"] == counters["artifacts_refused"] == 1
        assert counters["graphs_eager"] == 1
        assert daemon.status()["stats"]["client"]["artifacts_refused"] == 1
    finally:
        between.close()
        daemon.process.kill()
        daemon.process.wait()
