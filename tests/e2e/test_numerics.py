"""torch.set_float32_matmul_precision: what it changes where a processor is faster for it, and nothing elsewhere."""

import json
import subprocess

from e2e import forked

SCRIPT = """
import json, sys
import torch
import stoker
from stoker.libstoker.client import client

x, w = (torch.randn(64, 256, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
exact = x.double() @ w.double().t()

def product(x, w):
    return x @ w.t()

def squares(x):
    return x * x + 1

def starts():
    return {name: count for name, count in stoker.counters().items() if name.startswith("captures.")}

def run(function, *arguments):
    before = starts()
    result = torch.compile(function, backend="stoker")(*arguments)
    return result, {name: count - before.get(name, 0) for name, count in starts().items() if count != before.get(name)}

results = {"target": client().target, "errors": [], "keys": []}
torch.set_float32_matmul_precision(sys.argv[1])
with torch.no_grad():
    _, results["squares"] = run(squares, x)
    _, results["product"] = run(product, x, w)
    compiled = torch.compile(product, backend="stoker")
    for precision in sys.argv[1:]:
        torch.set_float32_matmul_precision(precision)
        error = (compiled(x, w).double() - exact).norm() / exact.norm()
        results["errors"].append(error.item())
        results["keys"].append(stoker.last_compile()["request_keys"])
print(json.dumps(results))
"""
# Of a product, relative: at least, at most.
ERRORS = {"highest": (0, 1e-6), "high": (2e-6, 2e-4), "medium": (5e-4, 1e-2)}


def run(site, *precisions):
    done = subprocess.run(
        [forked.python(), "-c", SCRIPT, *precisions], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_precision_of_products(site):
    order = ("highest", "medium", "high", "highest")
    first = run(site, *order)
    reads = "amx_bf16" in first["target"]
    for precision, error in zip(order, first["errors"]):
        least, most = ERRORS[precision if reads else "highest"]
        assert least <= error <= most, (precision, error)
    # The key is of what is read.
    assert len({key for keys in first["keys"] for key in keys}) == (3 if reads else 1)
    assert first["product"] == first["squares"] == {"captures.miss.no capture": 1, "captures.recorded": 1}

    # Other processes: what reads no precision starts warm under any, a product under those it was traced under.
    for precision, is_new in (("medium", False), ("high", reads), ("high", False)):
        other = run(site, precision)
        least, most = ERRORS[precision if reads else "highest"]
        assert least <= other["errors"][0] <= most
        assert other["squares"] == {"captures.hit": 1}
        assert other["product"] == (
            {"captures.miss.state": 1, "captures.recorded": 1} if is_new else {"captures.hit": 1})
