"""Does a second process that trains on this GPU trace nothing, and is it right? Each line: PASS or FAIL, a case of
tests/e2e/warm_training_cases.py, the mode, how far it is from eager, what was traced."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

JOB = pathlib.Path(__file__).parents[2] / "e2e" / "warm_training_job.py"
CASES = (
    "statistics", "images", "attention", "several_results", "views_of_results", "views_of_what_is_not_given",
    "views_of_inputs", "inputs_in_place", "frozen", "tied", "without_a_gradient", "twice", "steps", "many_steps", "channels_last",
    "some_results_unused", "own_function", "checkpointed", "graph_break", "graph_break_in_a_closure", "hooks",
    "nothing", "halves", "numbers", "drawn", "sized_of_6", "sized_of_9", "without_a_backward_pass", "with_a_backward_pass")
TOLERANCE, OF_HALVES = 1e-4, 0.03  # Sums of products are added in another order on a GPU.


def start(environment, device, mode):
    command = [sys.executable, str(JOB), *CASES, "--device", device, *(["--mode", mode] if mode else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"FAIL {' '.join(command[1:])}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def failures(cold, warm, mode):
    """Prints a line for each case."""
    failed = 0
    for name in CASES:
        far = [each[kind] for each in (cold["starts"][name], warm["starts"][name]) for kind in ("error", "repeats")]
        is_right = max(far) <= (OF_HALVES if name == "halves" else TOLERANCE)
        traced = warm["starts"][name]["torch"]
        failed += not is_right or bool(traced)
        print(f"{'PASS' if is_right and not traced else 'FAIL'} {name:28} {mode or 'default':16} {max(far):.1e} {traced or ''}")
    last = warm["starts"][CASES[-1]]
    print(f"     {'counted':28} {mode or 'default':16} {last['compiles']} compiles, {last['stoker']}, said: {warm['warnings']}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    device = parser.parse_args().device
    failed = 0
    for mode in (None, "reduce-overhead"):
        with tempfile.TemporaryDirectory(prefix="road-", ignore_cleanup_errors=True) as folder:
            environment = os.environ | {"STOKER_CACHE_DIR": folder}
            cold, warm = (start(environment, device, mode) for _ in range(2))
            failed += failures(cold, warm, mode)
            subprocess.run(
                [os.environ.get("STOKER_PROGRAM", "stoker"), "stop"], env=environment, capture_output=True, check=False)
    print(f"{2 * len(CASES) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
