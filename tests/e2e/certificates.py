"""Certificates for tests, by the command openssl."""

import base64
import hashlib
import subprocess


def openssl(*arguments, given=None):
    """Standard output."""
    done = subprocess.run(["openssl", *map(str, arguments)], input=given, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Issued:
    """Files with a certificate and its key."""

    def __init__(self, path):
        self.certificate = path.with_suffix(".pem")
        self.key = path.with_suffix(".key")

    def pin(self):
        """As curl writes it."""
        public = openssl("x509", "-in", self.certificate, "-pubkey", "-noout")
        der = openssl("pkey", "-pubin", "-outform", "der", given=public)
        return "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode()


class Authority:
    def __init__(self, folder, name="ca"):
        self._folder = folder
        self.own = Issued(folder / name)
        openssl(
            "req", "-x509", *NEW_KEY, "-keyout", self.own.key, "-out", self.own.certificate, "-days", "1",
            "-subj", f"/CN={name}")

    def issue(self, name, alternatives="DNS:localhost,IP:127.0.0.1"):
        """In place of an earlier one of that name, first the key, then the certificate."""
        issued = Issued(self._folder / name)
        request = openssl("req", "-new", *NEW_KEY, "-keyout", issued.key, "-subj", f"/CN={name}")
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternatives}\n")
        certificate = openssl(
            "x509", "-req", "-CA", self.own.certificate, "-CAkey", self.own.key, "-days", "1", "-extfile",
            extensions, given=request)
        beside = issued.certificate.with_suffix(".new")
        beside.write_bytes(certificate)
        beside.rename(issued.certificate)
        return issued
