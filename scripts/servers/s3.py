"""What both S3 peers share: a user whose keys stand in files, and the settings that name them."""

from __future__ import annotations

from pathlib import Path

from scripts.servers.process import HOST, secret

DOMAIN = "s3.test"
"""Buckets are at ``<bucket>.s3.test`` too, for who has that name resolved."""


def certified(folder: Path) -> Path | None:
    """The folder of ``public.crt`` and ``private.key``: where they are there, the server speaks TLS and nothing else."""
    certificates = folder / "certs"
    return certificates if (certificates / "public.crt").exists() else None


def keys(folder: Path) -> tuple[str, str]:
    return secret(folder, "access_key"), secret(folder, "secret_key")


def settings(folder: Path, port: int) -> str:
    where = f'endpoint = "{"https" if certified(folder) else "http"}://{HOST}:{port}"\nbucket = "kgfs"\n'
    files = f'access_key_file = "{folder / "access_key"}"\nsecret_key_file = "{folder / "secret_key"}"\n'
    return f'[garage]\nstore = "s3"\n{where}{files}'
