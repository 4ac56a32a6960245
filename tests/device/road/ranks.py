"""Two ranks on two GPUs of one host with one cache: does each compile once together, are both right, and do both start warm the
next time? And does what one rank recorded serve the other's GPU? A line for each process, PASS or FAIL last."""

import argparse
import json
import os
import subprocess
import sys
import tempfile


def job(device):
    """One rank's figures: a call without gradients and a training step of a small model on its device, beside eager."""
    import torch

    import stoker

    def step(run, model, x):
        with torch.no_grad():
            alone = run(x)
        model.zero_grad()
        result = run(x)
        result.square().mean().backward()
        return [alone, result.detach(), *(parameter.grad.clone() for parameter in model.parameters())]

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 64)).to(device)
    x = torch.randn(128, 256, device=device)
    expected = step(model, model, x)
    found = step(torch.compile(model, backend="stoker"), model, x)
    records = stoker.compiles()
    print(json.dumps({
        "device": device,
        "right": all(mine.device == theirs.device and torch.allclose(mine, theirs, rtol=1e-4, atol=1e-5)
                     for mine, theirs in zip(found, expected, strict=True)),
        "compiled": sum(source == "compiled" for record in records for source in record.get("sources", ())),
        "captures": captures(stoker), "eager": stoker.counters().get("graphs_eager", 0),
        "fallback_ops": stoker.fallback_ops()}))


def captures(stoker):
    """What became of captures, and why, where none was found or made."""
    return {name.removeprefix("captures."): count for name, count in stoker.counters().items()
            if name.startswith("captures.")}


def started(device, cache):
    return subprocess.Popen(
        [sys.executable, "-m", "device.road.ranks", "--job", device], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ, STOKER_CACHE_DIR=cache))


def ended(process):
    output, _ = process.communicate(timeout=300)
    if process.returncode:
        return {"right": False, "why": f"the process ended with {process.returncode}"}
    return json.loads(output.strip().rpartition("\n")[2])


def problems(devices):
    """What is not as promised."""
    first, second = devices
    with tempfile.TemporaryDirectory(prefix="ranks-", ignore_cleanup_errors=True) as cache:
        rounds = [("together, cold", devices, None), ("together, warm", devices, 0)]
        one_after_the_other = [("one alone, cold", [first], None), ("the other, warm", [second], 0)]
        for folder, steps in ((f"{cache}/both", rounds), (f"{cache}/one", one_after_the_other)):
            for name, places, bound in steps:
                ranks = [ended(process) for process in [started(place, folder) for place in places]]
                for rank in ranks:
                    print(f"{name:16} {rank}", flush=True)
                compiled = [rank.get("compiled", 0) for rank in ranks]
                if not all(rank["right"] and not rank["eager"] and not rank["fallback_ops"] for rank in ranks):
                    yield f"{name}: not right"
                if bound == 0 and (sum(compiled) or not all(rank.get("captures", {}).get("hit") for rank in ranks)):
                    yield f"{name}: {compiled} compiles, not warm"
                # The call, the step's forward and its backward are a compile each; ranks that ask at once share them.
                if bound is None and sum(compiled) != 3:
                    yield f"{name}: {compiled} compiles, where there are three graphs"
            subprocess.run([os.environ.get("STOKER_PROGRAM", "stoker"), "stop"], capture_output=True, check=False,
                           env=dict(os.environ, STOKER_CACHE_DIR=folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", nargs=2, default=["cuda:0", "cuda:1"])
    parser.add_argument("--job", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.job:
        job(chosen.job)
        return 0
    found = list(problems(chosen.devices))
    print("\n".join([*(f"FAIL  {line}" for line in found)] or ["PASS  two ranks"]), flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
