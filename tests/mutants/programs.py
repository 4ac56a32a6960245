"""The programs that are mutated: a file, or a folder of files, that has make() -> (entry, arguments)."""

import dataclasses
import pathlib

CORPUS = pathlib.Path(__file__).with_name("corpus")
SITE = "site/"  # In a program's folder: what stands for installed packages.
METADATA = ".dist-info/METADATA"
RANKS = (0, 2)  # Rank and number of ranks of a program that knows of any, where nothing else is said.


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    name: str
    files: dict  # Path in its folder -> text.
    title: str = ""

    def __str__(self):
        return self.title or self.name

    @property
    def main(self):
        return f"{self.name}.py"

    @property
    def ranks(self):
        return RANKS if "torch.distributed" in self.files[self.main] else None

    def write(self, folder, files=None):
        for name, text in (files or self.files).items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def small(folder=CORPUS):
    """A file is a program, and so is a folder with a file of its name in it."""
    return [
        Program(path.stem, {path.name: path.read_text()} if path.suffix == ".py" else {
            each.relative_to(path).as_posix(): each.read_text() for each in sorted(path.rglob("*"))
            if each.suffix == ".py" or each.as_posix().endswith(METADATA)})
        for path in sorted(folder.iterdir()) if path.suffix == ".py" or (path.is_dir() and path.name[0] not in "_.")]
