"""opinfo_fallbacks.txt: which operators of PyTorch's table PyTorch runs a part of, and which part."""

import pathlib

FALLBACKS = pathlib.Path(__file__).with_name("opinfo_fallbacks.txt")
_HEAD = "# PyTorch "


def _part(firsts):
    return "".join(f" {operator}@{place}" for operator, place in sorted(firsts.items()))


def text_of(users, version, count, samples):
    """`users`: {operator of the table: {"forward": {what PyTorch ran: first sample where}, "gradients": the same}}."""
    totals = {kind: sum(bool(parts[kind]) for parts in users.values()) for kind in ("forward", "gradients")}
    lines = [
        f"{_HEAD}{version}: {count} operators in float32, float64 and bfloat16, {samples or 'all'} samples of each.",
        f"# PyTorch runs a part of {len(users)}: {totals['forward']} forward, {totals['gradients']} with gradients.",
        "# Each with what PyTorch runs @ the first sample where: forward | with gradients.",
        "# ./dev opinfo --store writes this.",
        *(f"{name}:{_part(parts['forward'])} |{_part(parts['gradients'])}"
          for name, parts in sorted(users.items()))]
    return "\n".join(lines) + "\n"


def read_fallbacks(path=FALLBACKS):
    """(PyTorch's version, `users`) of what text_of() gave."""
    head, *lines = path.read_text().splitlines()
    users = {}
    for line in lines:
        if not line.startswith("#"):
            name, parts = line.split(":", 1)
            users[name] = {
                kind: {operator: int(place) for operator, place in (one.rsplit("@", 1) for one in part.split())}
                for kind, part in zip(("forward", "gradients"), parts.split("|"))}
    return head.removeprefix(_HEAD).partition(":")[0], users
