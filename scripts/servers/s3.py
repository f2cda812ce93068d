"""What both S3 peers share: a user whose keys stand in files, and the settings that name them."""

from __future__ import annotations

from pathlib import Path

from scripts.servers.process import HOST, secret


def keys(folder: Path) -> tuple[str, str]:
    return secret(folder, "access_key"), secret(folder, "secret_key")


def settings(folder: Path, port: int) -> str:
    where = f'endpoint = "http://{HOST}:{port}"\nbucket = "kgfs"\n'
    files = f'access_key_file = "{folder / "access_key"}"\nsecret_key_file = "{folder / "secret_key"}"\n'
    return f'[garage]\nstore = "s3"\n{where}{files}'
