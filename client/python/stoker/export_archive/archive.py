"""The zip file of an archive: its members, within limits. Nothing of it is unpickled, and weights are not read."""

import json
import os
import re
import zipfile
import zlib

from .errors import ArchiveError

ARCHIVE_VERSION = "0"
SCHEMA_MAJOR = 8  # Of the serialized programs: PyTorch raises it where the old reading would be wrong.
MAX_MEMBERS = 1 << 20
MAX_JSON_BYTES = 256 << 20
MAX_SMALL_BYTES = 64  # Of a member that holds a word.
MAX_READ_BYTES = 64 << 10  # A payload up to here is read: it may be a number that the program's way depends on.

_MODEL = re.compile(r"models/([^/]+)\.json")
_PAYLOAD = re.compile(r"[A-Za-z0-9_]+")
_FORBIDDEN = re.compile(r"(^|[/\\])\.\.?([/\\]|$)|^[/\\]|[\x00-\x1f]")
# What torch.export.save of an earlier PyTorch wrote, and AOTInductor does.
_OTHER_KINDS = (
    ("serialized_exported_program.json", "it was saved by an earlier PyTorch: load it and save it again"),
    ("data/aotinductor/", "it was compiled by AOTInductor, and holds no program any more"))
_WEIGHTS, _CONSTANTS = "data/weights/", "data/constants/"


class Archive:
    """Names of members are below the archive's root folder."""

    def __init__(self, path):
        try:
            self._bytes = os.path.getsize(path)
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise ArchiveError(f"It cannot be read: {error.strerror}.") from None
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
            raise ArchiveError(f"It is no whole zip file: {error}.") from None
        self._members = self._checked_members()
        self._require_format()

    def models(self):
        """Name -> its ExportedProgram as JSON, in the order of names."""
        names = sorted(match[1] for match in map(_MODEL.fullmatch, self._members) if match)
        if not names:
            raise ArchiveError(f"It holds no program: no member is called models/*.json{self._other_kind()}.")
        return {name: self._program(name) for name in names}

    def weights(self, model):
        """Name of a parameter or buffer -> its PayloadMeta as JSON."""
        return self._payloads(_WEIGHTS, model, "weights", "weight")

    def constants(self, model):
        """The same of constants, and of buffers that are no part of the state."""
        return self._payloads(_CONSTANTS, model, "constants", "constant")

    def weight_bytes(self, meta):
        """(size of the payload of a PayloadMeta, its bytes if they are few)."""
        return self._payload_bytes(_WEIGHTS, meta)

    def constant_bytes(self, meta):
        return self._payload_bytes(_CONSTANTS, meta)

    # ---- The file -------------------------------------------------------------------------------

    def _checked_members(self):
        """Name below the root -> ZipInfo."""
        entries = self._zip.infolist()
        if not entries:
            raise ArchiveError("It is an empty zip file.")
        if min(entry.header_offset for entry in entries) != 0:
            raise ArchiveError("It is no whole zip file: its end is that of another one, inside of it.")
        if len(entries) > MAX_MEMBERS:
            raise ArchiveError(f"It has {len(entries)} members; at most {MAX_MEMBERS} are read.")
        for entry in entries:
            if _FORBIDDEN.search(entry.orig_filename):
                raise ArchiveError(f"A member has the name {entry.orig_filename!r}, which leads out of the archive.")
        root = entries[0].filename.partition("/")[0] + "/"
        members = {}
        for entry in entries:
            if not entry.filename.startswith(root):
                continue  # PyTorch does not see it either.
            name = entry.filename.removeprefix(root)
            if name in members:
                raise ArchiveError(f"It has two members with the name '{name}'.")
            members[name] = entry
        return members

    def _require_format(self):
        found = self._word("archive_format")
        if found != "pt2":
            said = "it has no member archive_format" if found is None else f"archive_format is '{found}'"
            raise ArchiveError(
                f"It is a zip file, but no archive of torch.export: {said}, where 'pt2' is expected{self._other_kind()}.")
        version = self._word("archive_version")
        if version != ARCHIVE_VERSION:
            raise ArchiveError(f"Its archive version is {version}; this program reads {ARCHIVE_VERSION}.")
        order = self._word("byteorder")
        if order not in (None, "little"):
            raise ArchiveError(f"Its byte order is '{order}'; this program reads 'little'.")

    def _other_kind(self):
        for start, said in _OTHER_KINDS:
            if any(name.startswith(start) for name in self._members):
                return f"; {said}"
        return ""

    # ---- Members --------------------------------------------------------------------------------

    def _word(self, name):
        return self._read(name, MAX_SMALL_BYTES).decode(errors="replace") if name in self._members else None

    def _read(self, name, limit):
        """The whole member. It is unpacked up to the limit, whatever the zip says of its size."""
        entry = self._member(name)
        if entry.file_size > limit:
            raise ArchiveError(f"Member '{name}' has {entry.file_size} bytes; at most {limit} are read.")
        try:
            with self._zip.open(entry) as member:
                data = member.read(limit + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
            raise ArchiveError(f"Member '{name}' cannot be read: {error}.") from None
        if len(data) != entry.file_size:
            raise ArchiveError(f"Member '{name}' has {len(data)} bytes; the zip file says {entry.file_size}.")
        return data

    def _member(self, name):
        entry = self._members.get(name)
        if entry is None:
            raise ArchiveError(f"Member '{name}' is missing.")
        return entry

    def _json(self, name):
        try:
            found = json.loads(self._read(name, MAX_JSON_BYTES))
        except (ValueError, RecursionError) as error:
            raise ArchiveError(f"Member '{name}' is no JSON: {error}.") from None
        except MemoryError:
            raise ArchiveError(f"Member '{name}' takes more memory than there is.") from None
        if not isinstance(found, dict):
            raise ArchiveError(f"Member '{name}' is no JSON object.")
        return found

    def _program(self, model):
        name = f"models/{model}.json"
        program = self._json(name)
        version = program.get("schema_version")
        major, minor = (version.get("major"), version.get("minor")) if isinstance(version, dict) else (None, None)
        if major != SCHEMA_MAJOR:
            raise ArchiveError(
                f"Model '{model}' has schema version {major}.{minor}; this program reads {SCHEMA_MAJOR}.x.")
        return program

    def _payloads(self, folder, model, kind, one):
        if f"{folder}{model}.pt" in self._members:
            raise ArchiveError(
                f"The {kind} of model '{model}' are a pickle, as an earlier PyTorch saved them, which is not "
                "opened: load it and save it again.")
        name = f"{folder}{model}_{kind}_config.json"
        payloads = self._json(name).get("config")
        if not isinstance(payloads, dict) or not all(isinstance(meta, dict) for meta in payloads.values()):
            raise ArchiveError(f"Member '{name}' has no 'config' of payloads.")
        for fqn, meta in payloads.items():
            if meta.get("use_pickle") is not False or meta.get("tensor_meta") is None:
                raise ArchiveError(f"The {one} '{fqn}' of model '{model}' is a pickled object, which is not opened.")
            if not isinstance(meta.get("path_name"), str) or not _PAYLOAD.fullmatch(meta["path_name"]):
                raise ArchiveError(f"The {one} '{fqn}' of model '{model}' lies in {meta.get('path_name')!r}.")
        return payloads

    def _payload_bytes(self, folder, meta):
        name = folder + meta["path_name"]
        entry = self._member(name)
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ArchiveError(f"Member '{name}' is compressed, as torch.export.save leaves no payload.")
        if entry.header_offset + entry.file_size > self._bytes:
            raise ArchiveError(
                f"Member '{name}' has {entry.file_size} bytes, as the zip file says, which has {self._bytes} in all.")
        return entry.file_size, self._read(name, MAX_READ_BYTES) if entry.file_size <= MAX_READ_BYTES else None
