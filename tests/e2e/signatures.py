"""Signs artifacts in a daemon's name, with the key in its cache folder: for tests that stand between it and its clients."""

import hashlib
import subprocess
import tempfile

DIGEST_BYTES = 32
COUNT_BYTES = 4  # Of signatures, at the end.
_SIGNATURE_BYTES = 32 + 64


def body(artifact):
    """What is signed: everything before digest and signatures."""
    count = int.from_bytes(artifact[-COUNT_BYTES:], "little")
    return artifact[:-(DIGEST_BYTES + count * _SIGNATURE_BYTES + COUNT_BYTES)]


def signed(artifact_body, key_file):
    """An artifact of this body, with the signature of the key in a PEM file."""
    digest = hashlib.sha256(artifact_body).digest()
    with tempfile.NamedTemporaryFile() as message:
        message.write(b"stoker artifact 1\0" + digest)
        message.flush()
        signature = _openssl("pkeyutl", "-sign", "-rawin", "-inkey", key_file, "-in", message.name)
    return artifact_body + digest + public_key(key_file) + signature + (1).to_bytes(COUNT_BYTES, "little")


def make_key(path):
    _openssl("genpkey", "-algorithm", "ed25519", "-out", path)
    path.chmod(0o600)
    return path


def make_daemon_key(cache):
    """The key with which the daemon of a cache folder will sign."""
    folder = cache / "keys"
    folder.mkdir(mode=0o700, parents=True)
    return make_key(folder / "signing.pem")


def public_key(key_file):
    return _openssl("pkey", "-in", key_file, "-pubout", "-outform", "DER")[-32:]


def text(key_file):
    """The key's public half as settings take it."""
    return "ed25519:" + public_key(key_file).hex()


def _openssl(*arguments):
    return subprocess.run(
        ["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60).stdout
