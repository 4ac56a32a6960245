"""Compiled models in many threads, and in a child process made by fork; one artifact for any number of threads to
compute with."""

import json
import subprocess
import sys

from e2e import forked

SCRIPT = """
import json, os, threading
import stoker, torch
from job import build, output_of, relative_error

model, example = build("gpt2", 0, 64, 2)
model.eval()
compiled = torch.compile(lambda tokens: output_of(model(tokens)), backend="stoker")
inputs = [torch.randint(0, 1000, example.shape) for _ in range(4)]
with torch.no_grad():
    expected = [output_of(model(tokens)) for tokens in inputs]
    compiled(example)
worst = [0.0] * 4

def work(place):
    with torch.no_grad():
        for _ in range(25):
            error = relative_error(compiled(inputs[place]), expected[place])
            worst[place] = max(worst[place], error)

threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()

# Two models of one code: whoever runs last has bound the program to its own weights.
def layer(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64))

pair = [layer(seed) for seed in (1, 2)]
both = [torch.compile(each, backend="stoker") for each in pair]
rows = torch.randn(8, 64)
with torch.no_grad():
    wanted = [each(rows) for each in pair]
    for each in both: each(rows)
mixed = [0.0] * 4

def alternate(place):
    with torch.no_grad():
        for _ in range(200):
            mixed[place] = max(mixed[place], relative_error(both[place % 2](rows), wanted[place % 2]))

threads = [threading.Thread(target=alternate, args=(place,)) for place in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()

torch.set_num_threads(1)  # PyTorch's own threads do not survive a fork.
child = os.fork()
if child == 0:
    with torch.no_grad():
        same = relative_error(compiled(inputs[0]), expected[0]) < 1e-5
        other = torch.compile(lambda tokens: output_of(model(tokens)) + 1, backend="stoker")
        new = relative_error(other(inputs[0]), expected[0] + 1) < 1e-5
    os._exit(0 if same and new else 1)
_, status = os.waitpid(child, 0)
print(json.dumps({
    "worst": max(worst), "mixed": max(mixed), "child": status, "eager": stoker.counters().get("graphs_eager", 0)}))
"""


def test_threads_and_fork(site):
    site.env["PYTHONPATH"] += ":" + __file__.rpartition("/")[0]
    done = subprocess.run(
        [forked.python(), "-c", SCRIPT], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["worst"] < 1e-5
    assert result["mixed"] < 1e-5
    assert result["child"] == 0
    assert result["eager"] == 0


UPDATED = """
import json, threading
import stoker, torch

model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Tanh(), torch.nn.Linear(2048, 512)).eval()
compiled = torch.compile(model, backend="stoker")
rows = torch.randn(64, 512)
worst = [0.0] * 4

def work(place):
    with torch.no_grad():
        for _ in range(20):
            worst[place] = max(worst[place], float((compiled(rows) - wanted).abs().max()))

for _ in range(4):
    with torch.no_grad():
        compiled(rows)
        model[0].weight.mul_(1.01)  # Packed anew, and again after some calls, to be watched.
        wanted = model(rows)
    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps({"worst": max(worst), "eager": stoker.counters().get("graphs_eager", 0)}))
"""


def test_threads_share_weights_that_were_updated(site):
    done = subprocess.run(
        [forked.python(), "-c", UPDATED], env=site.env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["worst"] < 1e-4
    assert result["eager"] == 0, done.stderr


APART = """
import gc, json, threading
import torch

torch.set_num_threads(1)
import stoker.backend  # PyTorch itself does not name a backend twice, and looks without a lock whether it has.
before, worst, layers = (gc.isenabled(), gc.get_threshold()), [1.0] * 4, torch.nn.Linear(8, 8)

def of_depth(depth):
    scope = {"torch": torch, "layers": layers}
    body = "".join(f"    x = torch.tanh(layers(x)) + {place}\\n" for place in range(depth))
    exec(f"def network_{depth}(x):\\n{body}    return x", scope)
    return scope[f"network_{depth}"]

def work(place):
    network, x = of_depth(1 + 3 * place), torch.randn(5, 8)
    found = torch.compile(network, backend="stoker")(x)
    found.sum().backward()
    worst[place] = float((found - network(x)).abs().max())

threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({"worst": max(worst), "same": before == (gc.isenabled(), gc.get_threshold())}))
"""


def test_threads_that_compile_at_once_leave_the_collector_as_it_was(site):
    """PyTorch's compiler reads its thresholds, and puts them back when it ends: after what another thread has done."""
    for _ in range(2):
        done = subprocess.run([forked.python(), "-c", APART], env=site.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["worst"] < 1e-5 and result["same"]


COUNTED = """
import json, os, sys
import light_job
from stoker.libstoker import library

library.load().stoker_set_num_threads(int(sys.argv.pop(1)))
before = len(os.listdir("/proc/self/task"))
light_job.main()
print(json.dumps(len(os.listdir("/proc/self/task")) - before))
"""


def test_artifact_made_for_one_thread_runs_on_two(site):
    site.env["PYTHONPATH"] += ":" + __file__.rpartition("/")[0]

    def run(threads):
        done = subprocess.run(
            [sys.executable, "-c", COUNTED, str(threads), "512", "512", "512"], env=site.env, capture_output=True,
            text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        described, workers = map(json.loads, done.stdout.splitlines()[-2:])
        assert described["error"] < 1e-5
        return described, workers

    alone, workers = run(1)
    assert (alone["source"], workers) == ("compiled", 0)
    together, workers = run(2)
    assert together["request_key"] == alone["request_key"]
    assert (together["source"], workers) == ("memory", 1)
