"""One mutant of a program: which one it is follows from seed and number alone."""

import ast
import dataclasses
import difflib
import random
import warnings

from mutants import patches, syntax
from mutants.programs import SITE, Program

INDIFFERENT = "touches nothing: "
_INDIFFERENT_SHARE = 0.08
_PATCHED_SHARE = 0.3
_VARIABLE_SHARE = 0.02
_HASH_SHARE = 0.02
_TRIES = 20


@dataclasses.dataclass
class Mutant:
    number: int
    program: object  # programs.Program
    kind: str
    files: dict
    variables: dict = dataclasses.field(default_factory=dict)
    other_hashes: bool = False

    def diff(self):
        """What was changed, for people."""
        lines = [f"environment: {name}={value}" for name, value in self.variables.items()]
        if self.other_hashes:
            lines.append("another seed of hashes")
        for name, text in self.files.items():
            before = self.program.files[name]
            if text != before:
                lines += list(difflib.unified_diff(
                    ast.unparse(ast.parse(before)).splitlines(), text.splitlines(), name, name, "", "", 1, ""))[2:]
        return lines


def varied(programs, seed, count):
    """Mutants as programs, to record and to mutate again: what one adds, the next may change or take away."""
    found = (choose(programs, f"{seed} variant", number) for number in range(count))
    return [
        Program(each.program.name, each.files, f"{each.program.name} (variant {each.number})")
        for each in found if each is not None and not each.variables and not each.other_hashes]


def choose(programs, seed, number):
    """The mutant of that number, or None where nothing is found to change."""
    chance = random.Random(f"{seed} {number}")
    program = chance.choice(programs)
    for _ in range(_TRIES):
        found = _one(program, number, chance)
        if found is not None:
            return found
    return None


def _one(program, number, chance):
    kind_chance = chance.random()
    if kind_chance < _VARIABLE_SHARE:
        chosen = patches.variables(ast.parse(program.files[program.main]), chance)
        return Mutant(number, program, "environment", program.files, chosen) if chosen else None
    kind_chance -= _VARIABLE_SHARE
    if kind_chance < _HASH_SHARE:
        return Mutant(number, program, "seed of hashes", program.files, other_hashes=True)
    kind_chance -= _HASH_SHARE
    if kind_chance < _INDIFFERENT_SHARE:
        name = chance.choice(list(program.files))
        return _changed(program, number, chance, syntax.touching_nothing, name, INDIFFERENT)
    kind_chance -= _INDIFFERENT_SHARE
    if kind_chance < _PATCHED_SHARE:
        return _changed(program, number, chance, patches.patches, program.main)
    return _changed(program, number, chance, syntax.mutations, chance.choice(list(program.files)))


def _changed(program, number, chance, find, name, prefix=""):
    tree = ast.parse(program.files[name])
    before = ast.unparse(tree)
    kinds = {}
    for kind, change in find(tree, chance):
        kinds.setdefault(kind, []).append(change)
    if not kinds:
        return None
    kind = chance.choice(sorted(kinds))
    try:
        chance.choice(kinds[kind])()
        after = ast.unparse(ast.fix_missing_locations(tree))
        with warnings.catch_warnings(action="ignore"):
            compile(after, name, "exec")
    except (SyntaxError, ValueError, IndexError):
        return None
    if after == before:
        return None
    where = "package: " if name.startswith(SITE) else ""
    return Mutant(number, program, f"{prefix}{where}{kind}", {**program.files, name: after})
