"""What do programs take on this GPU: eager, torch.compile and Stoker, cold, warm and steady? Each row prints as it is done,
the table last.

Every figure comes from a process of its own: "cold" with an empty cache, "warm" with what the cold one left: its calls have
Stoker's guards in place of Dynamo's."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Name -> (backend of torch.compile, its mode); None: eager.
MODES = {
    "eager": None,
    "aot_eager": ("aot_eager", None),  # Of a cold start: what no backend of torch.compile is without.
    "inductor": ("inductor", None),
    "inductor reduce-overhead": ("inductor", "reduce-overhead"),
    "inductor max-autotune": ("inductor", "max-autotune"),
    "stoker": ("stoker", None),
    "stoker reduce-overhead": ("stoker", "reduce-overhead"),
}
WARM_UP, REPEATS = 8, 50


def measure(name, mode, device):
    """One process's figures, as a dictionary."""
    import torch

    from device.road.workloads import F32_ROWS, ROWS

    torch.set_float32_matmul_precision("high")
    workload, training = ROWS[name]
    place = torch.device(device)
    dtype = torch.float32 if name in F32_ROWS else torch.bfloat16
    function, inputs = workload.build(dtype, place, bool(training))
    chosen = MODES[mode]
    run = function if chosen is None else torch.compile(function, backend=chosen[0], mode=chosen[1])
    if training:
        run = training_step(torch, function, run)

    def wait():
        if place.type == "cuda":
            torch.cuda.synchronize()

    def mark():
        if chosen and chosen[1]:
            torch.compiler.cudagraph_mark_step_begin()

    def call():
        mark()
        return run(*inputs)

    mark()  # The first time it imports a part of Inductor, which only programs that say so use.
    wait()
    with torch.set_grad_enabled(bool(training)):
        started = time.perf_counter()
        call()
        wait()
        first_s = time.perf_counter() - started
        for _ in range(WARM_UP):
            call()
        wait()
        if place.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        times, host = [], []
        for _ in range(REPEATS):
            wait()
            started = time.perf_counter()
            call()
            host.append(time.perf_counter() - started)
            wait()
            times.append(time.perf_counter() - started)
    found = {
        "first_s": first_s, "ms": sorted(times)[REPEATS // 2] * 1e3, "least_ms": min(times) * 1e3,
        "host_ms": sorted(host)[REPEATS // 2] * 1e3}
    if place.type == "cuda":
        found["peak_mib"] = torch.cuda.max_memory_allocated() >> 20
        found["reserved_mib"] = (torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]) >> 20
    if chosen and chosen[0] == "stoker":
        found |= stoker_figures()
    return found


def training_step(torch, model, run):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(tokens):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(tokens.device.type, dtype=torch.bfloat16):
            logits = run(tokens)
            loss = torch.nn.functional.cross_entropy(
                logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss

    return step


def stoker_figures():
    import stoker

    records, counters = stoker.compiles(), stoker.counters()
    sums = {name: sum(record.get(name) or 0 for record in records)
            for name in ("compile_s", "load_s", "capture_s", "mapping_s", "launches", "kernels_unique")}
    return sums | {
        "graphs": counters.get("graphs", 0), "graphs_eager": counters.get("graphs_eager", 0),
        "segments": sum(record.get("segments") or 0 for record in records),
        "captured": any(record.get("captured") for record in records), "fallback_ops": stoker.fallback_ops()}


def prepared(name, device, mode):
    """(the compiled workload of a row that infers, its inputs), called often enough to be steady"""
    import torch

    from device.road.workloads import F32_ROWS, ROWS

    torch.set_float32_matmul_precision("high")
    workload, _ = ROWS[name]
    dtype = torch.float32 if name in F32_ROWS else torch.bfloat16
    function, inputs = workload.build(dtype, torch.device(device))
    backend, mode = MODES[mode]
    run = torch.compile(function, backend=backend, mode=mode)
    for _ in range(WARM_UP):
        torch.compiler.cudagraph_mark_step_begin()
        run(*inputs)
    torch.cuda.synchronize()
    return run, inputs


def lines_of(sums, what):
    """`sums`: label -> (count, us, bytes of memory); those that take longest."""
    lines = [f"{sum(us for _, us, _ in sums.values()):10.1f} us in {sum(count for count, _, _ in sums.values()):.0f} {what}"]
    for label, (count, us, size) in sorted(sums.items(), key=lambda item: -item[1][1])[:25]:
        lines.append(f"{us:10.1f} us {count:4.0f} x {size / max(us, 1e-9) / 1e3:8.0f} GB/s  {label}")
    return "\n".join(lines)


def launches_of(run, inputs):
    """What each launch and host call of one call takes, with the device waited for in between."""
    import stoker

    sums = {}
    with stoker.profile() as launches:
        run(*inputs)
    for launch in launches:
        label = launch["label"][:110]
        count, us, size = sums.get(label, (0, 0.0, 0))
        sums[label] = count + 1, us + launch["us"], size + (launch.get("bytes") or 0)
    return lines_of(sums, "launches and host calls")


def kernels_of(run, inputs, calls=10):
    """What each kernel of one call takes, as the device's own clock has it: replays of CUDA graphs too."""
    import torch

    sums = {}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        for _ in range(calls):
            torch.compiler.cudagraph_mark_step_begin()
            run(*inputs)
        torch.cuda.synchronize()
    for event in trace.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            label = event.name[:110]
            count, us, _ = sums.get(label, (0, 0.0, 0))
            sums[label] = count + 1 / calls, us + event.device_time / calls, 0
    return lines_of(sums, "kernels")


def profile(name, mode, device):
    import torch

    with torch.no_grad():
        run, inputs = prepared(name, device, mode)
        return launches_of(run, inputs) if mode == "stoker" else kernels_of(run, inputs)


def in_process(arguments, caches, seconds):
    """The last line that a process of this program prints, as a dictionary."""
    environment = dict(os.environ, STOKER_CACHE_DIR=str(caches / "stoker"), TORCHINDUCTOR_CACHE_DIR=str(caches / "inductor"),
                       TRITON_CACHE_DIR=str(caches / "triton"), TOKENIZERS_PARALLELISM="false")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "device.road.rows", *arguments], env=environment, capture_output=True, text=True,
            timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {seconds:.0f} s"}
    said = [line for line in done.stderr.splitlines() if "stoker" in line.lower() and "Warning" not in line]
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["it failed"])[-1][:300], "said": said[-5:]}
    return json.loads(done.stdout.strip().splitlines()[-1]) | {"said": said[:5]}


def line_of(name, mode, cold, warm):
    if "error" in cold:
        return f"{name:24} {mode:26} {cold['error']}"
    warm_s, warm_ms, warm_host = (
        "" if warm is None else f"{warm.get(key, float('nan')):.3f}" for key in ("first_s", "ms", "host_ms"))
    line = (f"{name:24} {mode:26} {cold['first_s']:8.2f} {warm_s:>8} {cold['ms']:9.3f} {cold['least_ms']:9.3f} "
            f"{cold['host_ms']:9.3f} {warm_ms:>9} {warm_host:>9} {cold.get('peak_mib', 0):8} {cold.get('reserved_mib', 0):8}")
    if "graphs" in cold:
        line += (f"  {cold['graphs']} graphs ({cold['graphs_eager']} eager), {cold['segments']} segments, "
                 f"{cold['launches']} launches, compile {cold['compile_s']:.2f} s, load {cold['load_s']:.3f} s"
                 + ("" if warm is None else f"; warm captured {warm.get('captured')}"))
    return line


HEAD = (f"{'row':24} {'mode':26} {'cold s':>8} {'warm s':>8} {'ms':>9} {'least ms':>9} {'host ms':>9} {'warm ms':>9} "
        f"{'host ms':>9} {'peak MiB':>8} {'GPU MiB':>8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="gpt2_infer_b1,bert_infer_b8,softmax_ln,physics_shallow_water,resnet50_infer_b1,"
                        "resnet50_infer_b32,gpt2_train_b8,llama_block_train")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--cold-only", action="store_true", help="no second process")
    parser.add_argument("--profile", action="store_true", help="what each launch of Stoker's or each kernel takes, too")
    parser.add_argument("--seconds", type=float, default=1e9, help="no row is started after so many")
    parser.add_argument("--one", nargs=2, metavar=("ROW", "MODE"), help=argparse.SUPPRESS)
    parser.add_argument("--one-profile", nargs=2, metavar=("ROW", "MODE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(*chosen.one, chosen.device)))
        return
    if chosen.one_profile:
        print(json.dumps({"profile": profile(*chosen.one_profile, chosen.device)}))
        return
    started, lines = time.perf_counter(), [HEAD]
    print(HEAD, flush=True)
    for name in filter(None, chosen.rows.split(",")):
        for mode in chosen.modes.split(","):
            if time.perf_counter() - started > chosen.seconds:
                break
            with tempfile.TemporaryDirectory(prefix="road-", ignore_cleanup_errors=True) as folder:
                arguments = ["--device", chosen.device, "--one", name, mode]
                cold = in_process(arguments, pathlib.Path(folder), 300)
                warm = None
                if MODES[mode] and not chosen.cold_only and "error" not in cold:
                    warm = in_process(arguments, pathlib.Path(folder), 300)
                lines.append(line_of(name, mode, cold, warm))
                print(lines[-1], flush=True)
                for said in cold.get("said", []):
                    print(f"        {said[:300]}", flush=True)
                if chosen.profile and MODES[mode] and "_train" not in name and "error" not in cold:
                    found = in_process(["--device", chosen.device, "--one-profile", name, mode], pathlib.Path(folder), 300)
                    print(found.get("profile", found.get("error")), flush=True)
                if MODES[mode] and MODES[mode][0] == "stoker":
                    subprocess.run([os.environ.get("STOKER_PROGRAM", "stoker"), "stop"], capture_output=True, check=False,
                                   env=dict(os.environ, STOKER_CACHE_DIR=f"{folder}/stoker"))
    print("\n".join(["", *lines]), flush=True)


if __name__ == "__main__":
    main()
