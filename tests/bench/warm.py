#!/usr/bin/env python3
"""How long does a process take to its first result when everything was compiled before?

usage: ./dev bench warm [--json] [--store] [--starts N] [--only MODEL[,IMPL]]   (float32, batch 1)

Each start is a process of its own, after one that filled the caches, which each row has for itself: Stoker's
private daemon, Inductor's folder. Numbers are medians over N starts. precompile is Inductor with
TORCH_CACHING_PRECOMPILE=1, saved at the end of a process by torch.compiler.save_cache_artifacts().

start_s is what a user waits for, from torch.compile() to the first result, beyond a steady call:
compile_call_s, torch.compile() itself with all that it imports, and startup_s, the first call less a steady
one. Of NAME_training a call is a forward and a backward pass. PyTorch and the model are there before, and garbage is collected before each part: imports have made that due.
stoker.compile counts the import of stoker in compile_call_s too; its startup_s begins there, so that it is its
start_s.

guard_first_us: the guard program alone, over functions and classes that have been described (code_us: digests of
code, functions and classes, without it). guard_call_us: a check in a call, of which the model's own work has
taken the caches; guard_hot_us: the same check again at once. Inductor's are those of Dynamo.
"""

import argparse
import gc
import json
import statistics
import sys
import time

import store
from figures import fault_of, figure, median, ratio, relative_error
from rows import Bench, cell, machine, say, table

MODELS = ("gpt2", "bert", "resnet18", "vit_b_16", "llama", "gpt2_training", "bert_training")
TRAINING = "_training"
IMPLEMENTATIONS = ("stoker", "stoker.compile", "inductor", "precompile", "eager")
STEADY_CALLS = 31
DEFAULT_STARTS = 3


def build(name):
    """(model, its input); one of NAME_training is in its mode of training, without what draws numbers."""
    import torch

    import models

    if name.endswith(TRAINING):
        model, inputs = build(name.removesuffix(TRAINING))
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return model, inputs
    if name != "llama":
        return models.build(name, torch.float32, 1)
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        num_hidden_layers=8, hidden_size=512, intermediate_size=1408, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=32000, use_cache=False))
    return models.Output(model, "logits").eval(), torch.randint(0, 32000, (1, models.SEQUENCE))


def call_of(name, model, called, inputs):
    """What is measured, of `called`, the model or what was made of it: a function that gives what is compared with eager's."""
    import torch

    if not name.endswith(TRAINING):
        return lambda: called(inputs)

    def step():
        for parameter in model.parameters():
            parameter.grad = None
        called(inputs).square().mean().backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None])

    return step


HOT_CHECKS = 100


class GuardTimes:
    """How long Stoker's guards take, by standing around their checks."""

    def __init__(self):
        from stoker.captures.check import native
        from stoker.captures.check.program import GuardProgram

        self.count, self.first_us, self.code_us, self.calls_us, self.hot_us = 0, 0.0, 0.0, [], None
        self.own_s = 0.0  # What looking on takes of a call.
        first_failure, bind = GuardProgram.first_failure, GuardProgram.bind

        def timed_first(program, local_values):
            started = time.perf_counter()
            failure = first_failure(program, local_values)
            ended = time.perf_counter()
            self.code_us += (ended - started) * 1e6
            self.count += len(program._guards)
            again = native.program(program._record, program._globals, program._ask)
            if again is not None and failure is None:
                again.first_failure(local_values)  # Describes what this one has not seen.
                self.first_us += elapsed_us(lambda: again.first_failure(local_values))
            self.own_s += time.perf_counter() - ended
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
        from torch._C._dynamo.eval_frame import (
            _debug_get_cache_entry_list, _debug_get_precompile_entries)

        code = model.forward.__func__.__code__
        entries = _debug_get_cache_entry_list(code) or _debug_get_precompile_entries(code)
        manager = entries[0].guard_manager
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
    import torch

    model, inputs = build(name)
    gc.collect()  # Imports have made one due: it would count for whoever allocates next.
    started = time.perf_counter()
    guards, import_s = None, 0.0
    if implementation.startswith("stoker"):
        import stoker

        guards = GuardTimes()
    if implementation not in ("stoker.compile", "eager"):
        import torch._dynamo  # noqa: F401

        import_s = time.perf_counter() - started
        started = time.perf_counter()
    called = {
        "eager": lambda: model,
        "inductor": lambda: torch.compile(model),
        "precompile": lambda: torch.compile(model),
        "stoker": lambda: torch.compile(model, backend="stoker"),
        "stoker.compile": lambda: stoker.compile(model),
    }[implementation]()
    wrap_s = time.perf_counter() - started
    if implementation != "stoker.compile":
        gc.collect()
    call = call_of(name, model, called, inputs)
    with torch.set_grad_enabled(name.endswith(TRAINING)):
        if implementation != "stoker.compile":
            started = time.perf_counter()
        call()
        first_s = time.perf_counter() - started - (guards.own_s if guards else 0.0)
        dynamo = None
        if implementation in ("inductor", "precompile"):
            dynamo = DynamoTimes(model, inputs)
        times = []
        for _ in range(STEADY_CALLS):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
            if dynamo is not None:
                dynamo.after_call()
        guards = guards or dynamo
        hot_us = None
        if guards is not None and guards.hot_us is not None:
            hot_us = min(elapsed_us(guards.hot_us) for _ in range(HOT_CHECKS))
        rel_err = relative_error(call(), call_of(name, model, model, inputs)())
    steady_s = statistics.median(times)
    traced = 0
    if "torch._dynamo" in sys.modules:
        traced = sys.modules["torch._dynamo.utils"].counters["frames"]["ok"]
    compiles = graphs_eager = None
    if implementation.startswith("stoker"):
        compiles = sum(not record.get("captured") for record in stoker.compiles())
        graphs_eager = stoker.counters().get("graphs_eager", 0)
    if implementation == "precompile":
        torch.compiler.save_cache_artifacts()
    compile_call_s, startup_s = import_s + wrap_s, first_s - steady_s
    return {
        "import_s": import_s, "wrap_s": wrap_s, "compile_call_s": compile_call_s,
        "first_call_s": first_s, "steady_s": steady_s,
        "steady_samples_s": times, "startup_s": startup_s,
        "start_s": startup_s if implementation == "stoker.compile" else compile_call_s + startup_s,
        "frames_traced": traced, "compiles": compiles, "graphs_eager": graphs_eager, "rel_err": rel_err,
        "guards": guards.count if guards else None,
        "guard_first_us": guards.first_us if guards else None,
        "code_us": guards.code_us if guards else None, "guard_hot_us": hot_us,
        "guard_call_us": statistics.median(guards.calls_us) if guards and guards.calls_us else None,
    }


# ---- Rows: medians over the starts of one model and implementation ----------------------------------

ROW_FIGURES = (
    "import_s", "wrap_s", "compile_call_s", "first_call_s", "startup_s", "start_s", "guard_first_us",
    "code_us", "guard_hot_us", "guard_call_us", "rel_err")
ROW_COUNTS = ("frames_traced", "compiles", "guards")  # The largest of the starts.


def row_of(name, implementation, starts):
    """The row of what the starts after the first, which fills the caches, have reported; what is no measure of it is
    left out."""
    faults = [fault_of(implementation, "float32", start) for start in starts]
    starts = [start for start, fault in zip(starts, faults) if not fault]
    figures = {key: figure([start.get(key) for start in starts]) for key in ROW_FIGURES}
    figures["steady_ms"] = figure(
        [1e3 * call for start in starts for call in start.get("steady_samples_s", ())])
    counts = {
        key: max((start[key] for start in starts if start.get(key) is not None), default=None)
        for key in ROW_COUNTS}
    return {
        "model": name, "impl": implementation, **counts,
        **{key: median(value) for key, value in figures.items()}, "figures": figures,
        **({"error": next(filter(None, faults))} if any(faults) else {})}


def row(bench, name, implementation, repeats):
    cache = bench.cache(f"{name}-{implementation}")
    variables = {"TORCH_CACHING_PRECOMPILE": "1"} if implementation == "precompile" else {}
    notes = [f"start {number + 1}" for number in range(repeats)]
    if implementation != "eager":
        notes.insert(0, "filling")
    starts = [
        bench.process(f"{name}, {implementation}, {note}", implementation, cache,
                      [__file__, "--measure", name, implementation], **variables)
        for note in notes]
    if implementation.startswith("stoker"):
        bench.stop_daemon(cache)
    return row_of(name, implementation, starts[-repeats:])


HEADS = (
    "model", "", "torch.compile(), s", "startup, s", "start, s", "steady, ms", "traced", "guards",
    "first us", "call us", "hot us")


def cells(result):
    traced = result["frames_traced"]
    return [
        result["model"], result["impl"], cell(result["compile_call_s"], ".3f"),
        cell(result["startup_s"], ".3f"), cell(result["start_s"], ".3f"),
        cell(result["steady_ms"], ".2f"), "-" if traced is None else str(traced or "no"),
        cell(result["guards"], "d"), cell(result["guard_first_us"], ".0f"),
        cell(result["guard_call_us"], ".0f"), cell(result["guard_hot_us"], ".0f")]


def print_ratios(results):
    """Starts of the peers beside Stoker's."""
    by_name = {}
    for result in results:
        by_name.setdefault(result["model"], {})[result["impl"]] = result["start_s"]
    lines = []
    for model, starts in by_name.items():
        for peer in ("inductor", "precompile"):
            multiples = [ratio(starts.get(peer), starts.get(own)) for own in IMPLEMENTATIONS[:2]]
            if any(multiples):
                lines.append([model, peer, *(cell(multiple, ".1f") for multiple in multiples)])
    if lines:
        print("\nStart as a multiple of Stoker's")
        print(table(["model", "", *IMPLEMENTATIONS[:2]], lines))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--only", default="", help="MODEL, or MODEL,IMPL")
    parser.add_argument("--starts", type=int, default=DEFAULT_STARTS, metavar="N",
                        help=f"starts of each row, after the one that fills (default: {DEFAULT_STARTS})")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    store.add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return 0
    store.check_arguments(parser, arguments, whole=not arguments.only)
    model, _, implementation = arguments.only.partition(",")
    chosen = [(name, impl) for name in MODELS for impl in IMPLEMENTATIONS
              if model in ("", name) and implementation in ("", impl)]
    if not chosen:
        parser.error(f"no row {arguments.only}; models: {', '.join(MODELS)}; implementations: "
                     f"{', '.join(IMPLEMENTATIONS)}.")
    import torch

    run = store.conditions(torch.get_num_threads())
    say(f"{machine()}, {run['threads']} threads, {run['target']}, PyTorch {torch.__version__}")
    processes = sum(arguments.starts + (impl != "eager") for _, impl in chosen)
    with Bench(processes) as bench:
        results = [row(bench, name, impl, arguments.starts) for name, impl in chosen]
    print(table(HEADS, [cells(result) for result in results]))
    print_ratios(results)
    if arguments.store:
        say(f"Stored: {store.write('warm', run, results)}")
    if arguments.json:
        print(json.dumps({"rows": results}))
    return int(any("error" in result for result in results))


if __name__ == "__main__":
    sys.exit(main())
