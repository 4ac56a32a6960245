"""One mutant of a program: which one it is follows from seed and number alone.

Its second process has other files, or another start: environment variables, seed of hashes, rank among others, versions
of what is installed.
"""

import ast
import dataclasses
import difflib
import random
import warnings

from mutants import patches, syntax
from mutants.programs import METADATA, SITE, Program

INDIFFERENT = "touches nothing: "
_INDIFFERENT_SHARE = 0.08
_PATCHED_SHARE = 0.3
_START_SHARE = 0.06
_TRIES = 20

_RANKS = ((1, 2), (0, 4), (3, 4), (0, 1), None)
_NEW_PACKAGE = f"{SITE}mutant_other-1.0{METADATA}"


@dataclasses.dataclass
class Mutant:
    number: int
    program: object  # programs.Program
    kind: str
    files: dict
    variables: dict = dataclasses.field(default_factory=dict)
    other_hashes: bool = False
    ranks: tuple | None = ()  # None: torch.distributed is not initialized; (): as it is recorded.

    def diff(self):
        """What was changed, for people."""
        lines = [f"environment: {name}={value}" for name, value in self.variables.items()]
        if self.other_hashes:
            lines.append("another seed of hashes")
        if self.ranks != ():
            lines.append(f"rank {self.ranks[0]} of {self.ranks[1]}" if self.ranks else "no ranks")
        for name, text in self.files.items():
            before = self.program.files.get(name)
            if before is None:
                lines.append(f"new file: {name}")
            elif text != before and not name.endswith(".py"):
                lines.append(f"other text: {name}")
            elif text != before:
                lines += list(difflib.unified_diff(
                    ast.unparse(ast.parse(before)).splitlines(), text.splitlines(), name, name, "", "", 1, ""))[2:]
        return lines


def varied(programs, seed, count):
    """Mutants as programs, to record and to mutate again: what one adds, the next may change or take away."""
    found = (choose(programs, f"{seed} variant", number) for number in range(count))
    return [
        Program(each.program.name, each.files, f"{each.program.name} (variant {each.number})")
        for each in found 
        if each is not None and each.files is not each.program.files and each.files.keys() == each.program.files.keys()]


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
    if kind_chance < _START_SHARE:
        return chance.choice(_STARTS)(program, number, chance)
    kind_chance -= _START_SHARE
    if kind_chance < _INDIFFERENT_SHARE:
        name = chance.choice(_modules(program))
        return _changed(program, number, chance, syntax.touching_nothing, name, INDIFFERENT)
    kind_chance -= _INDIFFERENT_SHARE
    if kind_chance < _PATCHED_SHARE:
        return _changed(program, number, chance, patches.patches, program.main)
    return _changed(program, number, chance, syntax.mutations, chance.choice(_modules(program)))


def _modules(program):
    return [name for name in program.files if name.endswith(".py")]


def _other_variable(program, number, chance):
    chosen = patches.variables(ast.parse(program.files[program.main]), chance)
    return Mutant(number, program, "environment", program.files, chosen) if chosen else None


def _other_hashes(program, number, chance):
    return Mutant(number, program, "seed of hashes", program.files, other_hashes=True)


def _other_rank(program, number, chance):
    prefix = "" if program.ranks else INDIFFERENT
    ranks = chance.choice([ranks for ranks in _RANKS if ranks != program.ranks])
    return Mutant(number, program, f"{prefix}rank", program.files, ranks=ranks)


def _other_version(program, number, chance):
    """Of a package that the program has, its metadata with it; or one more package, that it knows nothing of."""
    packages = [name for name in program.files if name.endswith(METADATA)]
    if not packages:
        return Mutant(number, program, f"{INDIFFERENT}package", {**program.files, _NEW_PACKAGE: "Name: mutant_other"})
    name = chance.choice(packages)
    package, _, version = name.removeprefix(SITE).removesuffix(METADATA).partition("-")
    new = chance.choice(("1.1", "2.0", "0.9.dev1"))
    files = {
        path.replace(f"{package}-{version}", f"{package}-{new}"): (
            text.replace(version, new) if path in (name, f"{SITE}{package}/__init__.py") else text)
        for path, text in program.files.items()}
    return Mutant(number, program, "package version", files)


_STARTS = (_other_variable, _other_hashes, _other_rank, _other_version)


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
