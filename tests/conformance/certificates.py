"""Certificates for tests, made by openssl(1): a CA, and what it certifies."""

import os
import subprocess

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    def __init__(self, folder, name):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.name = folder, name
        self.certificate, self.key = self.path("ca.crt"), self.path("ca.key")
        self._openssl("req", "-x509", *_NEW_KEY, "-keyout", self.key, "-out", self.certificate, "-subj", f"/CN={name}",
                      "-days", "30")

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def _openssl(*arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stderr}")

    def certify(self, name, days=30):
        """(certificate, key); DAYS below 0: it has expired."""
        certificate, key, request = self.path(f"{name}.crt"), self.path(f"{name}.key"), self.path(f"{name}.csr")
        self._openssl("req", "-new", *_NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        os.chmod(key, 0o600)
        if days > 0:
            self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                          "-out", certificate, "-days", str(days))
        else:
            database, configuration = self.path("index.txt"), self.path("ca.cnf")
            with open(database, "w", encoding="ascii"), open(configuration, "w", encoding="ascii") as file:
                file.write(f"[ca]\ndefault_ca=d\n[d]\ndatabase={database}\nserial={self.path('serial')}\nnew_certs_dir={self.folder}\n"
                           "policy=p\ndefault_md=sha256\nunique_subject=no\n[p]\ncommonName=supplied\n")
            with open(self.path("serial"), "w", encoding="ascii") as file:
                file.write("77\n")
            self._openssl("ca", "-batch", "-config", configuration, "-cert", self.certificate, "-keyfile", self.key, "-in", request,
                          "-out", certificate, "-startdate", "20200101000000Z", "-enddate", "20200201000000Z", "-notext")
        return certificate, key
