"""Certificates that a test makes for its servers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts.servers import s3


def make_certificates(folder: Path) -> None:
    """``public.crt`` and ``private.key`` of 127.0.0.1 and buckets' hosts, signed by the authority ``ca.crt``."""
    folder.mkdir(parents=True)
    (folder / "names").write_text(f"subjectAltName=IP:127.0.0.1,DNS:{s3.DOMAIN},DNS:*.{s3.DOMAIN}\n")
    new = ["req", "-newkey", "rsa:2048", "-nodes"]
    signed = ["x509", "-req", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
    for words in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=An authority", "-keyout", "ca.key", "-out", "ca.crt"],
        [*new, "-subj", "/CN=a server", "-keyout", "private.key", "-out", "request"],
        [*signed, "-in", "request", "-extfile", "names", "-out", "public.crt"],
    ):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    (folder / "ca.key").unlink()
