#!/usr/bin/env python3
"""How long does a process take to its first result when everything was compiled before?

usage: ./dev bench warm [--json] [--only MODEL[,IMPL]]   (float32, batch 1)

Each start is a process of its own, after one that filled the caches: Stoker's private daemon with a cache
folder of this run, Inductor's folder. startup_s is the first call less a steady one; imports, the model and
torch.compile() itself are not part of it. For stoker.compile import_s is 0 and startup_s begins where the
model is built: importing stoker counts.

guard_first_us: the guard program alone, over functions and classes that have been described (code_us: digests of
code, functions and classes, without it). guard_call_us: a check in a call, of which the model's own work has
taken the caches; guard_hot_us: the same check again at once. Inductor's are those of Dynamo.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("gpt2", "bert", "resnet18", "vit_b_16", "llama")
IMPLEMENTATIONS = ("stoker", "stoker.compile", "inductor", "eager")
STEADY_CALLS = 31


def build(name):
    import torch

    import models

    if name != "llama":
        return models.build(name, torch.float32, 1)
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        num_hidden_layers=8, hidden_size=512, intermediate_size=1408, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=32000, use_cache=False))
    return models.Output(model, "logits").eval(), torch.randint(0, 32000, (1, models.SEQUENCE))


HOT_CHECKS = 100


class GuardTimes:
    """How long Stoker's guards take, by standing around their checks."""

    def __init__(self):
        from stoker.captures import native
        from stoker.captures.program import GuardProgram

        self.count, self.first_us, self.code_us, self.calls_us, self.hot_us = 0, 0.0, 0.0, [], None
        first_failure, bind = GuardProgram.first_failure, GuardProgram.bind

        def timed_first(program, local_values, describe):
            started = time.perf_counter()
            failure = first_failure(program, local_values, describe)
            self.code_us += (time.perf_counter() - started) * 1e6
            self.count += len(program._guards)
            again = native.program(program._record, program._globals, program._ask)
            if again is not None and failure is None:
                again.first_failure(local_values)  # Describes what this one has not seen.
                self.first_us += elapsed_us(lambda: again.first_failure(local_values))
            return failure

        def timed_bind(program):
            check = bind(program)

            def timed(local_values):
                started = time.perf_counter()
                holds = check(local_values)
                self.calls_us.append((time.perf_counter() - started) * 1e6)
                self.hot_us = lambda: check(local_values)
                return holds

            return timed

        GuardProgram.first_failure, GuardProgram.bind = timed_first, timed_bind


class DynamoTimes:
    """How long Dynamo's guards take, over the same frame."""

    def __init__(self, model, inputs):
        from torch._dynamo.eval_frame import _debug_get_cache_entry_list

        code = model.forward.__func__.__code__
        manager = _debug_get_cache_entry_list(code)[0].guard_manager
        local_values = dict(zip(code.co_varnames, (model, inputs)))
        assert manager.check(local_values)
        self.hot_us = lambda: manager.check(local_values)
        self.calls_us, self.count, self.first_us, self.code_us = [], None, None, None

    def after_call(self):
        self.calls_us.append(elapsed_us(self.hot_us))


def elapsed_us(call):
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e6


def measure(name, implementation):
    """One start, in this process."""
    sys.path[:0] = [str(ROOT / "client" / "python"), str(ROOT / "tests" / "bench")]
    import torch

    model, inputs = build(name)
    started = time.perf_counter()
    guards, import_s = None, 0.0
    if implementation.startswith("stoker"):
        import stoker

        guards = GuardTimes()
    if implementation != "stoker.compile":
        import torch._dynamo  # noqa: F401

        import_s = time.perf_counter() - started
        started = time.perf_counter()
    call = {
        "eager": lambda: model,
        "inductor": lambda: torch.compile(model),
        "stoker": lambda: torch.compile(model, backend="stoker"),
        "stoker.compile": lambda: stoker.compile(model),
    }[implementation]()
    wrap_s = time.perf_counter() - started
    with torch.no_grad():
        if implementation != "stoker.compile":
            started = time.perf_counter()
        call(inputs)
        first_s = time.perf_counter() - started
        dynamo = DynamoTimes(model, inputs) if implementation == "inductor" else None
        times = []
        for _ in range(STEADY_CALLS):
            started = time.perf_counter()
            call(inputs)
            times.append(time.perf_counter() - started)
            if dynamo is not None:
                dynamo.after_call()
        guards = guards or dynamo
        hot_us = None
        if guards is not None and guards.hot_us is not None:
            hot_us = min(elapsed_us(guards.hot_us) for _ in range(HOT_CHECKS))
    steady_s = statistics.median(times)
    traced = 0
    if "torch._dynamo" in sys.modules:
        traced = sys.modules["torch._dynamo.utils"].counters["frames"]["ok"]
    compiles = None
    if implementation.startswith("stoker"):
        compiles = sum(not record.get("captured") for record in stoker.compiles())
    return {
        "model": name, "impl": implementation, "import_s": import_s, "wrap_s": wrap_s,
        "first_call_s": first_s, "steady_ms": steady_s * 1e3, "startup_s": first_s - steady_s,
        "frames_traced": traced, "compiles": compiles,
        "guards": guards.count if guards else None,
        "guard_first_us": guards.first_us if guards else None,
        "code_us": guards.code_us if guards else None, "guard_hot_us": hot_us,
        "guard_call_us": statistics.median(guards.calls_us) if guards and guards.calls_us else None,
    }


def start(name, implementation, env):
    done = subprocess.run(
        [sys.executable, __file__, "--measure", name, implementation], env=env,
        capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--only", default="", help="MODEL, or MODEL,IMPL")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    model, _, implementation = arguments.only.partition(",")
    rows = []
    print(f"{'model':<10} {'impl':<15} {'startup s':>10} {'first s':>8} {'steady ms':>10} "
          f"{'traced':>6} {'guards':>6} {'first us':>9} {'call us':>8} {'hot us':>7}", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        env = dict(os.environ, STOKER_CACHE_DIR=f"{folder}/stoker",
                   TORCHINDUCTOR_CACHE_DIR=f"{folder}/inductor")
        try:
            for name in MODELS:
                for impl in IMPLEMENTATIONS:
                    if model not in ("", name) or implementation not in ("", impl):
                        continue
                    if impl != "eager":
                        start(name, impl, env)
                    row = start(name, impl, env)
                    rows.append(row)
                    print(f"{name:<10} {impl:<15} {row['startup_s']:>10.3f} "
                          f"{row['first_call_s']:>8.3f} {row['steady_ms']:>10.2f} "
                          f"{row['frames_traced']:>6} {row['guards'] or '-':>6} "
                          f"{row['guard_first_us'] or 0:>9.0f} {row['guard_call_us'] or 0:>8.0f} "
                          f"{row['guard_hot_us'] or 0:>7.0f}",
                          flush=True)
        finally:
            subprocess.run(
                [sys.executable, "-c", "from stoker.command import main; main()", "stop"],
                env=dict(env, PYTHONPATH=str(ROOT / "client" / "python")), capture_output=True)
    if arguments.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
