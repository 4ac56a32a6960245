"""A copy of the installed PyTorch in which something is otherwise: links to all of it, but for the files changed."""

import os
import pathlib
import re

import torch

INSTALLED = pathlib.Path(torch.__file__).parent


class ChangedPyTorch:
    def __init__(self, folder, version):
        """`version`: what the copy says it is."""
        self.folder = folder
        _link_entries(INSTALLED.parent, folder, leave="torch")
        _link_entries(INSTALLED, folder / "torch")
        self.change("version.py", lambda text: re.sub(
            r"__version__ = .*", f"__version__ = {version!r}", text))

    def change(self, path, edit):
        """Replaces the text of torch/`path` by edit(text), which must differ."""
        link = self.folder / "torch" / path
        for parent in reversed(link.relative_to(self.folder).parents[:-1]):
            here = self.folder / parent
            if here.is_symlink():
                target = here.resolve()
                here.unlink()
                _link_entries(target, here)
        before = link.read_text()
        after = edit(before)
        assert after != before, path
        link.unlink()
        link.write_text(after)

    def replace(self, path, before, after):
        """The same, of one piece of text."""
        self.change(path, lambda text: text.replace(before, after))

    def rename(self, old, new, folder):
        """Renames something in all Python files of torch/`folder`."""
        pattern = re.compile(rf"\b{old}\b")
        for path in sorted((INSTALLED / folder).rglob("*.py")):
            if pattern.search(path.read_text()):
                self.change(path.relative_to(INSTALLED), lambda text: pattern.sub(new, text))

    def env(self, env):
        return {
            **env, "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(self.folder), env["PYTHONPATH"]])}


def _link_entries(source, target, leave=None):
    target.mkdir()
    for entry in source.iterdir():
        if entry.name != leave:
            (target / entry.name).symlink_to(entry)
