"""The Quadlet units in systemd/servers/: read as podman would, run by nobody here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.servers import minio, neo4j, seaweedfs

UNITS = Path(__file__).parents[2] / "systemd" / "servers"
COMPOSE = UNITS.parents[1] / "examples" / "servers" / "compose.yaml"
CONTAINERS = sorted(path.name for path in UNITS.glob("*.container"))
KNOWN = {
    "Unit": {"Description", "Wants", "After"},
    "Container": {
        "ContainerName",
        "Image",
        "Exec",
        "PublishPort",
        "Volume",
        "Secret",
        "Environment",
        "NoNewPrivileges",
        "StopTimeout",
    },
    "Service": {"Restart", "TimeoutStartSec", "LimitCORE"},
    "Install": {"WantedBy"},
    "Volume": {"VolumeName"},
}
"""Sections, and keys of them that podman-systemd.unit(5) and systemd know."""


def read(name: str) -> dict[str, dict[str, list[str]]]:
    """Section → key → values, in order."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in (UNITS / name).read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals and value, f"{name}: {line}"
            section.setdefault(key, []).append(value)
    return found


def test_there_is_one_for_each_server() -> None:
    names = ("minio", "neo4j", "qdrant", "seaweedfs")
    assert [f"kgfs-{name}.container" for name in names] == CONTAINERS


@pytest.mark.parametrize("path", sorted(UNITS.iterdir()), ids=lambda path: path.name)
def test_sections_and_keys_are_known(path: Path) -> None:
    for section, keys in read(path.name).items():
        assert set(keys) <= KNOWN[section]


@pytest.mark.parametrize("name", CONTAINERS)
def test_they_say_that_nobody_ran_them_and_where_they_go(name: str) -> None:
    comment = (UNITS / name).read_text().partition("[Unit]")[0]
    assert "NOT RUN" in comment
    there = "~/.config/containers/systemd"
    assert comment.index(f"mkdir -p {there}\n") < comment.index(f" {there}/ && systemctl --user daemon-reload")


@pytest.mark.parametrize("name", CONTAINERS)
def test_versions_are_pinned_ports_are_for_this_machine_and_secrets_are_none(name: str) -> None:
    unit = read(name)
    [image] = unit["Container"]["Image"]
    assert re.search(r":(v|RELEASE\.)?\d{1,4}[.-]\d", image), image
    assert all(port.startswith("127.0.0.1:") for port in unit["Container"]["PublishPort"])
    assert unit["Container"]["Secret"]
    assert unit["Service"]["LimitCORE"] == ["0"]
    for value in unit["Container"].get("Environment", []):
        name_, _, content = value.partition("=")
        if re.search("AUTH|PASSWORD|KEY|USER", name_):
            assert name_.endswith("_FILE") and content.startswith("/run/secrets/")


@pytest.mark.parametrize("name", CONTAINERS)
def test_secrets_and_volumes_are_those_that_the_unit_explains(name: str) -> None:
    comment, unit = (UNITS / name).read_text().partition("[Unit]")[0], read(name)["Container"]
    named = {secret.partition(",")[0] for secret in unit["Secret"]}
    assert set(re.findall(r"podman secret create (\S+)", comment)) == named
    mounted = {f"/run/secrets/{found}" for secret in unit["Secret"] for found in re.findall("target=(.+)", secret)}
    for value in unit.get("Environment", []):
        if "_FILE=" in value:
            assert value.partition("=")[2] in mounted
    for volume in unit["Volume"]:
        source = volume.partition(":")[0]
        assert read(source)["Volume"]["VolumeName"]


def test_they_are_the_servers_that_are_tested() -> None:
    from tests.support.peers.qdrant_wire.__main__ import VERSION  # and Qdrant's client, which takes a second

    assert read("kgfs-neo4j.container")["Container"]["Image"][0].partition(":")[2].startswith(neo4j.VERSIONS[25])
    assert read("kgfs-qdrant.container")["Container"]["Image"] == [f"docker.io/qdrant/qdrant:v{VERSION}"]
    assert (
        read("kgfs-seaweedfs.container")["Container"]["Image"][0].partition(":")[2]
        == seaweedfs.PACKAGE.partition("==")[2]
    )
    released = re.findall(r":RELEASE\.(\d{4})-(\d\d)-(\d\d)", read("kgfs-minio.container")["Container"]["Image"][0])[0]
    assert "".join(released) < minio.VERSION.split("-")[1], "and so the unit says of it"


def test_compose_starts_what_the_units_start_on_loopback_with_keys_from_files() -> None:
    text = COMPOSE.read_text()
    assert "NOT RUN" in text
    units = [read(f"kgfs-{name}.container")["Container"] for name in ("seaweedfs", "qdrant", "neo4j")]
    assert re.findall(r"image: (\S+)", text) == [unit["Image"][0] for unit in units]
    assert re.findall(r'ports: \["([^"]+)"\]', text) == [unit["PublishPort"][0] for unit in units]
    assert units[0]["Exec"][0] in text
    page = (COMPOSE.parents[2] / "docs" / "servers.md").read_text()
    files = set(re.findall(r'file: "\$\{HOME\}/\.config/kgfs/(\w+)"', text))
    assert files == set(re.findall(r"\bfor key in ([^;]+);", page)[0].split())
    for file in files:
        assert f'"~/.config/kgfs/{file}"' in page
