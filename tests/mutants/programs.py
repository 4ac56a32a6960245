"""The programs that are mutated: a file, or a folder of files, that has make() -> (entry, arguments)."""

import dataclasses
import pathlib

CORPUS = pathlib.Path(__file__).with_name("corpus")
SITE = "site/"  # In a program's folder: what stands for installed packages.


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

    def write(self, folder, files=None):
        for name, text in (files or self.files).items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def small(folder=CORPUS):
    """A file is a program, and so is a folder with a file of its name in it."""
    return [
        Program(path.stem, {path.name: path.read_text()} if path.suffix == ".py" else {
            each.relative_to(path).as_posix(): each.read_text() for each in sorted(path.rglob("*.py"))})
        for path in sorted(folder.iterdir()) if path.suffix == ".py" or (path.is_dir() and path.name[0] not in "_.")]
