"""Graphs in text form over the C interface and through the daemon: what no frontend has to be there for (graph_job.py)."""

import json
import pathlib
import subprocess
import sys

JOB = str(pathlib.Path(__file__).with_name("graph_job.py"))


def run(site, tmp_path, text, *calls):
    graph = tmp_path / "graph.txt"
    graph.write_text(text)
    env = site.env | {"PYTHONPATH": f"{site.env['PYTHONPATH']}:{pathlib.Path(__file__).parents[1]}"}
    done = subprocess.run(
        [sys.executable, JOB, str(graph)], input="".join(json.dumps(call) + "\n" for call in calls), env=env,
        capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_sizes_that_the_graph_cannot_have_are_refused(site, tmp_path):
    """The slice reads ten elements, and the call has four: nothing is read."""
    text = """graph @head(%x: f32[s0]) {
      %y = slice(%x) {start=[0], limit=[10], stride=[1]} : f32[10]
      %z = negate(%y) : f32[10]
      return %z
    }"""

    def call(size):
        return {"inputs": [["float32", list(range(size))]], "outputs": [["float32", [10]]], "symbols": [size]}

    short, long, again = run(site, tmp_path, text, call(4), call(12), call(4))
    assert "A guard does not hold: input 0 size 0 in [10,9223372036854775807]: found 4." in short["error"]
    assert long["outputs"] == [[-float(place) for place in range(10)]]
    assert again == short


def test_random_bits_are_those_of_the_paper(site, tmp_path):
    """The third of Random123's known answers for philox4x32 with 10 rounds, and the block after it."""
    text = """graph @draw(%s: i64[3], %x: f32[s0]) {
      %t, %b = rng_bit_generator(%s) {algorithm="PHILOX"} : i64[3], i32[s0]
      return %t, %b, %x
    }"""
    state = [0x299F31D0A4093822, 0x85A308D3243F6A88 - 2**64, 0x0370734413198A2E]

    def call(size):
        return {
            "inputs": [["int64", state], ["float32", [0] * size]],
            "outputs": [["int64", [3]], ["int32", [size]], ["float32", [size]]], "symbols": [size]}

    block, *others = run(site, tmp_path, text, call(4), call(1), call(1001))
    after, words, _ = block["outputs"]
    assert [word % 2**32 for word in words] == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    assert after == [state[0], state[1] + 1, state[2]]
    (after_one, one, _), (after_many, many, _) = (other["outputs"] for other in others)
    assert one == words[:1] and after_one == after
    assert many[:4] == words and after_many == [state[0], state[1] + 251, state[2]]
