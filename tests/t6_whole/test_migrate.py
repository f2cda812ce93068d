"""``kgfs migrate`` as a user sees it: there and back again, killed at every border, while the home is in use."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.app.moving import goal_of
from kgfs.config import load
from kgfs.errors import BadInputError
from kgfs.stores.garage.opening import open_garage
from tests.support.knowledge_of import knowledge_of
from tests.support.peers.buckets import Server
from tests.support.running import LET_GO_SOON, QUICK, Place, contents, one_line
from tests.support.texts import GARBAGE, ZEN

PLAIN = '[models]\nembedder = "none"\nextractor = "statistics"\n'
LARGE = GARBAGE * 400
BORDERS = (
    *("begun", "entries", "ledger", "object", "objects", "caught-up", "front", "derived", "proved"),
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with some documents and a home that has read them, of which each test takes a copy."""
    top = tmp_path_factory.mktemp("made")
    place = Place(top / "home", top / "mnt", dict(QUICK))
    for name, content in (("zen.md", ZEN), ("garbage.txt", GARBAGE)):
        (top / name).write_text(content)
        place.run("ingest", top / name, "--ontology", "Zen")
    (top / "plain.toml").write_text(PLAIN)
    return top


@pytest.fixture
def filled(place: Place, made: Path, tmp_path: Path) -> Place:
    place.environment |= QUICK
    shutil.copytree(made, tmp_path, symlinks=True, dirs_exist_ok=True)
    return place


@pytest.fixture
def moved(tmp_path: Path) -> Iterator[Place]:
    """Where it goes."""
    found = Place(tmp_path / "moved", tmp_path / "movedmnt", dict(QUICK))
    found.mountpoint.mkdir()
    yield found
    found.close()


def records_of(home: Path) -> dict[str, bytes]:
    """What extractors answered, ever: whoever asks one again keeps that under another key, for the time of it stands in it."""
    with closing(open_garage(load(home))) as garage:
        return {key: garage.objects.get(key) for key, _ in garage.objects.keys("records/")}


def clean(place: Place) -> bool:
    return "0 findings" in place.run("check", "--deep").stderr


@pytest.mark.claim("MOVE-1")
@pytest.mark.mounted
def test_what_is_in_use_and_not_settled_moves_with_all_the_rest(filled: Place, moved: Place, tmp_path: Path) -> None:
    filled.mount("--no-worker", env={"KGFS_PIPELINE_SETTLE": "600"})
    documents = filled.mountpoint / "Zen/documents"
    (documents / "large.txt").write_text(LARGE)
    (documents / "small.txt").write_text("A stupa is a mound.\n")
    (documents / "empty").touch()
    os.symlink("zen.md", documents / "link")
    with (documents / "open.txt").open("w") as file:
        file.write("Another. " + LARGE)
        file.flush()
        os.fsync(file.fileno())
        before = contents(filled.mountpoint)
        file.write("not kept yet")
        filled.run("migrate", "--to", tmp_path / "plain.toml", "--into", moved.home)
        moved.mount("--no-worker", env={"KGFS_PIPELINE_SETTLE": "600"})
        assert contents(moved.mountpoint) == before
    assert (documents / "open.txt").read_text() == "Another. " + LARGE + "not kept yet", "the home stays in use"
    moved.umount()
    moved.mount()
    moved.wait()
    assert moved.status()["documents"] == {"done": 5}
    assert (moved.mountpoint / "Zen/documents/link").readlink() == Path("zen.md")
    assert clean(moved)


def test_settings_that_would_name_another_file_in_the_new_home_are_refused(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "servers.toml"
    for named in ("keys/access", "/keys/access", "~/access", ""):
        file.write_text(f'[garage]\naccess_key_file = "{named}"\n')
        if named == "keys/access":
            with pytest.raises(BadInputError, match=r"garage\.access_key_file"):
                goal_of(load(home, environ={}), file, None)
        else:
            assert goal_of(load(home, environ={}), file, None).garage_store.access_key_file == named


@pytest.mark.claim("MOVE-2")
def test_killed_at_any_border_it_goes_on(filled: Place, moved: Place, tmp_path: Path) -> None:
    before, records = knowledge_of(filled.home), records_of(filled.home)
    words = ("migrate", "--to", tmp_path / "plain.toml", "--into", moved.home)
    for border in BORDERS:
        filled.run(*words, expect=-9, env={"KGFS_FAIL_AT": f"migrate-{border}"})
        assert "not complete" in one_line(
            moved.run("ingest", tmp_path / "zen.md", "--ontology", "Zen", expect=5).stderr
        )
    filled.run(*words)
    assert knowledge_of(moved.home) == knowledge_of(filled.home) == before
    assert records_of(moved.home) == records_of(filled.home) == records != {}, "nothing is extracted again"
    assert clean(moved)
    moved.run("worker", "--until-idle")
    assert records_of(moved.home) == records, "nor is anything owed"
    assert not (moved.home / "run/migrating").exists()


@pytest.mark.claim("MOVE-1")
def test_what_came_and_what_was_purged_meanwhile_is_so_in_the_copy(filled: Place, moved: Place, tmp_path: Path) -> None:
    words = ("migrate", "--to", tmp_path / "plain.toml", "--into", moved.home)
    filled.run(*words, expect=-9, env={"KGFS_FAIL_AT": "migrate-caught-up"})
    (tmp_path / "zen.md").write_text(ZEN + "\nZazen is sitting. Zazen is a practice of Zen.\n")
    filled.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    filled.run("forget", "Zen/garbage.txt", "--purge", "--yes")
    before = knowledge_of(filled.home)
    filled.run(*words)
    assert knowledge_of(moved.home) == before
    assert clean(moved)
    assert traces(moved.home, b"tracing algorithm") == []


@pytest.mark.claim("MOVE-1")
def test_what_the_graph_shows_and_nobody_noted_yet_is_no_difference(
    filled: Place, moved: Place, tmp_path: Path
) -> None:
    """Who changed the graph ended in between, as where its server took too long: the next worker makes up for it."""
    filled.run("forget", "Zen/garbage.txt", "--yes", expect=-9, env={"KGFS_FAIL_AT": "forgetting-committed"})
    migrate = ("migrate", "--to", tmp_path / "plain.toml", "--into", moved.home)
    assert "not noted" in one_line(filled.run(*migrate, expect=5).stderr)
    filled.run("worker", "--until-idle")
    filled.run(*migrate)
    assert knowledge_of(moved.home) == knowledge_of(filled.home)
    assert clean(moved)


def traces(home: Path, words: bytes) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and words in path.read_bytes()]


@pytest.mark.claim("MOVE-1")
@pytest.mark.parametrize("where", ["objects/sources", "objects/readings", "ledger"])
def test_a_changed_byte_is_found(filled: Place, moved: Place, tmp_path: Path, where: str) -> None:
    words = ("migrate", "--to", tmp_path / "plain.toml", "--into", moved.home)
    filled.run(*words, expect=-9, env={"KGFS_FAIL_AT": "migrate-objects"})
    found = next(p for p in sorted((moved.home / "garage" / where).rglob("*")) if p.is_file() and p.suffix != ".sums")
    os.chmod(found, 0o600)
    right = found.read_bytes()
    found.write_bytes(right[:20] + bytes([right[20] ^ 1]) + right[21:])
    reported = one_line(filled.run(*words, expect=7).stderr)
    assert where.rpartition("/")[2] in reported or "entry 1" in reported
    if where == "ledger":
        found.write_bytes(right)
    filled.run(*words)
    assert knowledge_of(moved.home) == knowledge_of(filled.home)
    assert clean(moved)


def test_what_is_refused_and_what_is_planned(filled: Place, moved: Place, tmp_path: Path) -> None:
    words = ("migrate", "--to", tmp_path / "plain.toml", "--into", moved.home)
    planned = json.loads(filled.run(*words, "--dry-run", "--json").stdout)
    assert not moved.home.exists()
    assert (planned["documents"], planned["unsettled"], planned["garage"]) == (2, 0, "files")
    assert planned["bytes"] > len(ZEN + GARBAGE)
    assert "no such configuration" in filled.run("migrate", "--to", tmp_path / "no.toml", expect=3).stderr
    assert "not empty" in filled.run("migrate", "--to", tmp_path / "plain.toml", "--into", filled.home, expect=5).stderr
    assert "no home" in moved.run("migrate", "--to", tmp_path / "plain.toml", expect=4).stderr
    filled.run(*words, expect=-9, env={"KGFS_FAIL_AT": "migrate-begun"})
    (tmp_path / "plain.toml").write_text(PLAIN + '[garage]\nstore = "s3"\nendpoint = "http://127.0.0.1:1"\n')
    assert "other stores" in one_line(filled.run(*words, expect=5).stderr)
    (tmp_path / "plain.toml").write_text(PLAIN)
    filled.run(*words)
    assert "not empty" in filled.run(*words, expect=5).stderr


# -------------------------------------------------------------------------------------------- servers


def bucket_settings(server: Server) -> str:
    """Of a part of its bucket that nobody used yet."""
    bucket = server.place
    return (
        f'[garage]\nstore = "s3"\nendpoint = "{bucket.endpoint}"\nprefix = "{bucket.prefix}"\n'
        f'access_key_file = "{bucket.access_key_file}"\nsecret_key_file = "{bucket.secret_key_file}"\n'
    )


@pytest.fixture
def servers(seaweedfs: Server, qdrant_wire_url: str, tmp_path: Path) -> Path:
    """Settings of a place on both that nobody used yet."""
    file = tmp_path / "servers.toml"
    file.write_text(
        bucket_settings(seaweedfs)
        + f'[vectors]\nstore = "qdrant"\nurl = "{qdrant_wire_url}"\nprefix = "test-{secrets.token_hex(6)}"\n'
    )
    return file


@pytest.mark.claim("MOVE-1")
@pytest.mark.slow
@pytest.mark.parametrize("ways", [("minio", "files"), ("seaweedfs", "minio")], ids=" to ".join)
def test_from_any_stores_to_any(
    filled: Place, tmp_path: Path, request: pytest.FixtureRequest, ways: tuple[str, str]
) -> None:
    """From files to the first, and from there to the second."""
    known, records, at = knowledge_of(filled.home), records_of(filled.home), filled
    assert records
    for garage in ways:
        settings = PLAIN if garage == "files" else PLAIN + bucket_settings(request.getfixturevalue(garage))
        (tmp_path / f"{garage}.toml").write_text(settings)
        goal = Place(tmp_path / garage, tmp_path / "unused", dict(QUICK))
        at.run("migrate", "--to", tmp_path / f"{garage}.toml", "--into", goal.home)
        assert knowledge_of(goal.home) == known
        assert records_of(goal.home) == records, "nothing is extracted again"
        assert clean(goal)
        at = goal


@pytest.mark.claim("MOVE-1")
@pytest.mark.mounted
@pytest.mark.models
@pytest.mark.slow
def test_to_servers_and_back(place: Place, moved: Place, servers: Path, tmp_path: Path) -> None:
    far = Place(tmp_path / "far", tmp_path / "farmnt")
    moved.environment.clear()
    place.mount()
    documents = place.ontology("Zen") / "documents"
    for name, content in (("zen.md", ZEN), ("garbage.txt", GARBAGE), ("large.bin", "\0" + LARGE * 20)):
        (documents / name).write_text(content)
    place.wait()
    (documents / "zen.md").write_text(ZEN + "\nZazen is sitting.\n")
    place.wait()
    before, known, records = contents(place.mountpoint), knowledge_of(place.home), records_of(place.home)
    assert records
    place.umount()

    out = ("migrate", "--to", servers, "--into", far.home)
    for border in ("staged:2", "migrate-derived"):
        place.run(*out, expect=-9, env={"KGFS_FAIL_AT": border})
    place.run(*out)
    assert knowledge_of(far.home) == known
    assert records_of(far.home) == records, "nothing is extracted again"
    assert vectors_in(far.home) == vectors_in(place.home) != []
    assert not any(path.is_file() for path in (far.home / "garage").rglob("*")), "nothing is kept in files"
    assert "not empty" in place.run("migrate", "--to", servers, "--into", tmp_path / "other", expect=5).stderr
    assert clean(far)

    (tmp_path / "home.toml").write_text("")
    back = ("migrate", "--to", tmp_path / "home.toml", "--into", moved.home)
    far.run(*back, expect=-9, env=LET_GO_SOON | {"KGFS_FAIL_AT": "migrate-derived"})
    far.run(*back)
    assert knowledge_of(moved.home) == known
    assert vectors_in(moved.home) == vectors_in(place.home)
    moved.mount()
    assert contents(moved.mountpoint) == before
    moved.wait()
    assert records_of(moved.home) == records
    assert clean(moved)


def vectors_in(home: Path) -> list[tuple[str, str, int, bytes]]:
    from kgfs.app.home import model_in_use, open_home
    from kgfs.config import load
    from kgfs.stores.vectors.contract import Filter
    from kgfs.stores.vectors.opening import open_vectors

    config = load(home)
    with open_home(config) as stores, closing(open_vectors(config, model_in_use(config, stores))) as vectors:
        assert vectors.complete()
        return [(row.kind, row.item, row.window, row.vector.tobytes()) for row in vectors.fetch(Filter())]
