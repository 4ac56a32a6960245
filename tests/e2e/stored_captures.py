"""Captures in a daemon's store, read and replaced over libstoker, for the end-to-end tests.

usage: stored_captures.py read KEY...   prints {key: [content of each, most recent first]}
       stored_captures.py write         takes the same from standard input; drops what is under those keys
"""

import json
import pathlib
import subprocess
import sys


def of(site):
    """{key: contents} of every capture in the site's store."""
    listed = json.loads(site.tool("ls", "--captures", "--json"))
    return json.loads(_run(site, "read", *(entry["key"] for entry in listed)))


def replace(site, captures):
    _run(site, "write", input=json.dumps(captures))


def _run(site, *arguments, input=None):
    from e2e import forked  # Not there for the script.

    done = subprocess.run(
        [forked.python(), str(pathlib.Path(__file__)), *arguments], env=site.env, input=input,
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


class _Key:
    """As much of a CaptureKey as the store asks for."""

    def __init__(self, digest):
        self.digest = digest
        self.fields = [["entry", "a test"]]


def main(mode, *keys):
    from stoker.captures.store import store

    if mode == "read":
        print(json.dumps({
            key: [stored.content.decode() for stored in store.find(_Key(key)).captures]
            for key in keys}))
        return
    for digest, contents in json.load(sys.stdin).items():
        key = _Key(digest)
        for stored in store.find(key).captures:
            store.drop(key, stored)
        for content in reversed(contents):
            store.put_content(key, "a test", content.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
