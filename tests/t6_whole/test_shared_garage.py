"""Two homes on one bucket, as two machines have them: each mounts, writes and reads; what one does the other sees."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_stores
from kgfs.config import load
from kgfs.errors import BadInputError
from kgfs.stores.pending_uploads import LEAVING, WAITING
from scripts.servers import process
from tests.support.catalog_life import tables
from tests.support.knowledge_of import knowledge_of
from tests.support.logs import AWAY
from tests.support.mounting import EVER, catalog_of
from tests.support.outages import errno_of
from tests.support.peers.buckets import S3, Server, started
from tests.support.peers.losing import Losing
from tests.support.running import PATIENCE, Place, until
from tests.support.sharing import SEEN, show_the_same, tree, versions_of
from tests.support.stopping import stopped

COLLIDED = "sharing"


@pytest.fixture(params=[*S3])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def settings_of(server: Server, more: str = "", port: int = 0) -> str:
    """``port`` instead of the server's own."""
    place = server.place
    if port:
        place = replace(place, endpoint=f"http://127.0.0.1:{port}")
    return (
        f'[garage]\nstore = "s3"\nshared = true\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\ntimeout = 5\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\n{more}'
    )


def host(folder: Path, settings: str) -> Place:
    made = Place(folder / "home", folder / "mnt", {"KGFS_MODELS_EMBEDDER": "none"})
    made.home.mkdir(parents=True)
    made.mountpoint.mkdir()
    (made.home / "config.toml").write_text(settings)
    return made


@pytest.fixture
def hosts(server: Server, tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    settings = settings_of(server)
    with ExitStack() as stack:
        made = [host(tmp_path / name, settings) for name in ("here", "there")]
        for one in made:
            stack.callback(one.close)
        yield made[0], made[1]


def mounted(hosts: tuple[Place, Place]) -> tuple[Path, Path]:
    """Their ``documents/`` of one ontology."""
    here, there = hosts
    here.mount("--no-worker").ontology("Notes")
    there.mount("--no-worker")
    found = [one.mountpoint / "Notes/documents" for one in hosts]
    until(found[1].is_dir, SEEN)
    return found[0], found[1]


def settled(*hosts: Place) -> None:
    """Until all that these know of is decided about and delivered: what was written nobody reads here."""
    for one in hosts:
        with catalog_of(one) as catalog:
            until(lambda catalog=catalog: not catalog.names.unsettled(quiet_before=EVER), 60)  # type: ignore[misc]
            until(lambda catalog=catalog: catalog.unshipped(1)[1] == [], 60)  # type: ignore[misc]


def alike(hosts: tuple[Place, Place]) -> None:
    """Both have the same rows, once all is delivered."""
    for one in hosts:
        one.umount()
    same_rows(hosts)


def same_rows(hosts: tuple[Place, Place]) -> None:
    found = []
    for one in (*hosts, hosts[0]):
        with open_stores(load(one.home)) as stores:
            assert stores.catalog.unshipped(1)[1] == []
            rows: dict[str, object] = dict(tables(stores.catalog))  # type: ignore[arg-type]
            # A mount that ends between a decision and the end of its note leaves the note of what is promised.
            found.append(rows | {"unheld": stores.catalog.unheld()})
    assert found[1] == found[2]


@pytest.mark.mounted
@pytest.mark.claim("SHARE-1")
def test_what_one_does_the_other_sees(hosts: tuple[Place, Place]) -> None:
    here, there = mounted(hosts)
    (here / "a.txt").write_text("words")
    (here / "folder").mkdir()
    (here / "folder/large.bin").write_bytes(os.urandom(1 << 20))
    until(lambda: show_the_same(there, here), SEEN)
    (there / "a.txt").write_text("other words")
    os.chmod(there / "a.txt", 0o600)
    (there / "folder").rename(there / "renamed")
    until(lambda: show_the_same(there, here), SEEN)
    assert (here / "renamed/large.bin").exists() and (here / "a.txt").read_text() == "other words"
    (here / "a.txt").unlink()
    until(lambda: not (there / "a.txt").exists(), SEEN)
    settled(*hosts)
    until(lambda: show_the_same(there, here), SEEN)
    alike(hosts)


@pytest.mark.mounted
@pytest.mark.logs(COLLIDED, AWAY)
@pytest.mark.claim("SHARE-3", "SHARE-6")
def test_both_write_one_path(hosts: tuple[Place, Place], server: Server) -> None:
    """While neither can see what the other writes, so each of the contents is nobody's but its writer's."""
    folders = dict(zip(("here", "there"), mounted(hosts), strict=True))
    paths, both = [f"{n}.txt" for n in range(4)], [b"here", b"there"]
    running = process.running(server.folder)
    assert running
    with stopped(running.pid):
        for name, folder in folders.items():
            for path in paths:
                (folder / path).write_text(name)
    here, there = folders.values()
    until(lambda: show_the_same(here, there), SEEN)
    settled(*hosts)
    until(lambda: all(len(versions_of(folder, path)) == 2 for folder in (here, there) for path in paths), SEEN)
    assert all(versions_of(folder, path) == both for folder in (here, there) for path in paths)
    assert show_the_same(here, there) and sorted(shown := tree(here)) == paths
    for one in hosts:
        status = one.status()
        assert status["conflicts"] == len(paths)
        assert status["conflict_paths"] == [f"Notes/{path}" for path in paths]
        assert all(f"Notes/{path}" in one.run("status").stdout for path in paths)
        reported = one.run("history", f"Notes/{paths[0]}").stdout.splitlines()
        (conflict,) = (line for line in reported if "conflict" in line)
        assert conflict.split()[4:6] == ["-", "kept"]
        assert "written in one home after another had changed it" in conflict
    told = "".join((one.mountpoint / ".kgfs/errors.ndjson").read_text() for one in hosts)
    assert all(f"Notes/{path}: written in one home" in told for path in paths)
    alike(hosts)
    with open_stores(load(hosts[0].home)) as stores:
        names = stores.catalog.names
        (ontology,) = names.ontologies()
        for name in names.children(ontology.root):
            kept = {v.decision == "conflict": stores.garage.objects.get(v.key) for v in names.versions(name.id)}
            assert kept[False] == shown[name.name][1] and sorted(kept.values()) == both


@pytest.mark.mounted
@pytest.mark.claim("SHARE-3", "VIS-5")
@pytest.mark.parametrize("server", ["seaweedfs"], indirect=True)
def test_what_is_written_over_within_a_moment_is_a_version_or_read_by_who_opened_it(hosts: tuple[Place, Place]) -> None:
    """By another home, and by its own."""
    for one in hosts:
        one.environment |= {"KGFS_PIPELINE_SETTLE": "20"}
    here, there = mounted(hosts)

    def save(documents: Path, path: str, content: bytes) -> None:
        (documents / f".{path}.new").write_bytes(content)
        os.replace(documents / f".{path}.new", documents / path)

    save(here, "own.txt", b"first")
    until((there / "own.txt").exists, SEEN)
    with (there / "own.txt").open("rb") as opened:
        save(here, "own.txt", b"second one")
        until(lambda: (there / "own.txt").stat().st_size == 10, SEEN)
        assert opened.read() == b"first"
    ways: dict[str, Callable[[Path, str, bytes], object]] = {
        "replaced.txt": save,
        "written.txt": lambda documents, path, content: (documents / path).write_bytes(content),
    }
    for path, way in ways.items():
        way(here, path, b"of here")
        until(lambda path=path: (there / path).exists() and (there / path).stat().st_size == 7, SEEN)  # type: ignore[misc]
        way(there, path, b"of there")
        until(lambda path=path: (here / path).stat().st_size == 8, SEEN)  # type: ignore[misc]
    for one in hosts:
        one.run("wait", expect=None)  # settles at once
    for folder in (here, there):
        for path in ways:
            until(lambda folder=folder, path=path: len(versions_of(folder, path)) == 2, SEEN)  # type: ignore[misc]
            assert versions_of(folder, path) == [b"of here", b"of there"]
    assert hosts[0].status()["conflicts"] == 0
    alike(hosts)
    assert [json.loads(one.run("check", "--json").stdout) for one in hosts] == [[], []], "nothing is left of it"


def test_a_home_that_is_not_told_of_the_others_does_not_write_among_them(
    hosts: tuple[Place, Place], tmp_path: Path
) -> None:
    here, there = hosts
    (tmp_path / "a.txt").write_text("first")
    here.run("ingest", tmp_path / "a.txt", "--ontology", "Notes")
    settings = there.home / "config.toml"
    settings.write_text(settings.read_text().replace("shared = true", "shared = false"))
    with pytest.raises(BadInputError, match=r"garage\.shared"), open_stores(load(there.home)):
        pass
    settings.write_text(settings.read_text().replace("shared = false", "shared = true"))
    with open_stores(load(there.home)) as stores:
        assert [ontology.name for ontology in stores.catalog.names.ontologies()] == ["Notes"]


@pytest.mark.claim("GONE-7")
@pytest.mark.logs(COLLIDED)
def test_what_another_home_named_is_not_said_to_be_erased(hosts: tuple[Place, Place], tmp_path: Path) -> None:
    """One of two documents of one order."""
    here, there = hosts
    for name, words in (("a.txt", "A stupa is a mound."), ("b.txt", "A pagoda is a tower.")):
        (tmp_path / name).write_text(words)
    here.run("ingest", tmp_path / "a.txt", tmp_path / "b.txt", "--ontology", "Notes")
    stopping = {"KGFS_STOP_AT": "forgetting-owed"}
    with here.start("forget", "Notes/a.txt", "Notes/b.txt", "--purge", "--yes", env=stopping) as asked:
        try:
            until(lambda: "T" in Path(f"/proc/{asked.pid}/stat").read_text().rpartition(")")[2].split()[0])
            there.run("ingest", tmp_path / "a.txt", "--ontology", "Notes", "--as", "again.txt")
        finally:
            os.kill(asked.pid, signal.SIGCONT)
        _, reported = asked.communicate(timeout=PATIENCE)
    with open_stores(load(there.home)) as stores:
        (ontology,) = stores.catalog.names.ontologies()
        listed = [name.name for name in stores.catalog.names.children(ontology.root)]
    assert listed == ["a.txt", "again.txt", "b.txt"], "an order is carried out as a whole"
    assert "0 documents erased." in reported
    assert all(f"Notes/documents/{name}" in reported for name in listed)
    assert asked.returncode == 5


@pytest.mark.claim("GONE-7")
@pytest.mark.logs(COLLIDED, "recover")
@pytest.mark.mounted
def test_what_another_home_deposits_while_it_is_purged_is_known_to_both(
    hosts: tuple[Place, Place], tmp_path: Path
) -> None:
    here, there = hosts
    for one in hosts:
        one.environment |= {"KGFS_MODELS_EXTRACTOR": "statistics"}
    (tmp_path / "a.txt").write_text("A stupa is a mound. A stupa uses a relic.")
    (tmp_path / "b.txt").write_text("A pagoda is a tower. A pagoda uses a relic.")
    here.run("ingest", tmp_path / "a.txt", tmp_path / "b.txt", "--ontology", "Notes")
    there.run("worker", "--until-idle")
    there.mount("--no-worker", env={"KGFS_PIPELINE_SETTLE": "0.1"})
    with here.start("forget", "Notes/a.txt", "--purge", "--yes", env={"KGFS_STOP_AT": "erased"}) as asked:
        try:
            until(lambda: "T" in Path(f"/proc/{asked.pid}/stat").read_text().rpartition(")")[2].split()[0])
            again = there.mountpoint / "Notes/documents/again.txt"
            until(lambda: not again.with_name("a.txt").exists())
            again.write_bytes((tmp_path / "a.txt").read_bytes())
            settled(there)
        finally:
            os.kill(asked.pid, signal.SIGCONT)
        _, reported = asked.communicate(timeout=PATIENCE)
    assert "again.txt" in reported
    there.umount()
    for one in (here, there, here, there):
        one.run("worker", "--until-idle")
    assert knowledge_of(here.home) == knowledge_of(there.home)
    assert knowledge_of(here.home)["Notes"]["states"] == {"done": 2}
    for one in hosts:
        assert "again.txt" in str(one.run("status", "--json", "Notes/again.txt").stdout)
        assert one.run("check", "--deep").returncode == 0


@pytest.mark.parametrize("border", ["waiting-put", "delivered", "confirmed"])
@pytest.mark.claim("SHARE-5")
def test_killed_while_delivering(hosts: tuple[Place, Place], border: str, tmp_path: Path) -> None:
    here, there = hosts
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "b.txt").write_text("second")
    here.run("ingest", tmp_path / "a.txt", "--ontology", "Notes")
    there.run("ingest", tmp_path / "b.txt", "--ontology", "Notes", expect=-9, env={"KGFS_FAIL_AT": border})
    here.run("ingest", tmp_path / "a.txt", "--ontology", "Notes", "--as", "c.txt")
    there.run("ingest", tmp_path / "b.txt", "--ontology", "Notes", "--as", "b.txt")
    found = []
    for one in (here, there, here):
        with open_stores(load(one.home)) as stores:
            rows: dict[str, object] = dict(tables(stores.catalog))  # type: ignore[arg-type]
            # A mount that ends between a decision and the end of its note leaves the note of what is promised.
            found.append(rows | {"unheld": stores.catalog.unheld()})
            (ontology,) = stores.catalog.names.ontologies()
            listed = [name.name for name in stores.catalog.names.children(ontology.root)]
            waits = [key for key, _ in stores.garage.objects.keys(WAITING)]
    assert found[1] == found[2] and listed == ["a.txt", "b.txt", "c.txt"] and waits == []


@pytest.mark.mounted
@pytest.mark.logs(AWAY)
@pytest.mark.parametrize("name", [*S3])
@pytest.mark.claim("SHARE-2")
def test_durable_in_the_bucket_or_refused(name: str, tmp_path: Path) -> None:
    for server in started(name, tmp_path / name):  # of its own: others are not to notice that it goes
        strict = host(tmp_path / "strict", settings_of(server, 'durability = "shared"\n'))
        try:
            documents = strict.mount("--no-worker").ontology("Notes") / "documents"
            (documents / "a.txt").write_text("delivered")
            server.end()
            with pytest.raises(OSError) as refused, (documents / "a.txt").open("w") as file:
                file.write("refused")
            assert refused.value.errno in (errno.EIO, errno.ETIMEDOUT)
            server.start()
            assert (documents / "a.txt").read_text() == "delivered"
            (documents / "a.txt").write_text("delivered again")
            assert (documents / "a.txt").read_text() == "delivered again"
        finally:
            strict.close()


def is_taken(path: Path, content: bytes) -> bool:
    return errno_of(partial(path.write_bytes, content)) == 0


REFUSED = (errno.EIO, errno.ETIMEDOUT)
MANY = 27
"""Two thirds of them are more than the threads in which a mount carries out changes."""


@pytest.mark.long
@pytest.mark.mounted
@pytest.mark.logs(AWAY)
@pytest.mark.claim("SHARE-2")
@pytest.mark.parametrize("name", ["seaweedfs"])
def test_a_silent_bucket_holds_up_only_who_waits_for_it(name: str, tmp_path: Path) -> None:
    """Stopped, a server takes connections and says nothing. What it was asked then it may do when it goes on."""
    for server in started(name, tmp_path / name):
        settings = settings_of(server).replace("timeout = 5", "timeout = 10")
        strict, other = host(tmp_path / "strict", settings + 'durability = "shared"\n'), host(tmp_path / "x", settings)
        try:
            documents = strict.mount("--no-worker").ontology("Notes") / "documents"
            paths = [documents / f"{n}.txt" for n in range(MANY)]
            for path in paths:
                until(partial(is_taken, path, b"before"), 60)
            running = process.running(server.folder)
            assert running
            with stopped(running.pid):
                with ThreadPoolExecutor(MANY) as writers:
                    writing = [
                        writers.submit(
                            errno_of,
                            partial(os.truncate, path, 3)
                            if n % 3
                            else partial(path.write_bytes, b"refused" * (30_000 if n % 2 else 1)),
                        )
                        for n, path in enumerate(paths)
                    ]
                    for n in range(MANY):
                        (documents / f"folder {n}").mkdir()
                    (documents / "folder 1").rename(documents / "renamed")
                    assert paths[0].stat() and len(os.listdir(documents)) == 2 * MANY
                    assert not any(done.done() for done in writing), "what is local waits for nothing"
                assert all(done.result() in REFUSED for done in writing)
                assert all(path.read_text() == "before" for path in paths)
            for path in paths:
                until(partial(is_taken, path, b"after"), 60)
            strict.umount()
            same_rows((strict, other))
            with open_stores(load(other.home)) as stores:
                names = stores.catalog.names
                found = {name.name: name for name in names.children(names.ontologies()[0].root)}
                assert "renamed" in found and len(found) == 2 * MANY
                assert {found[path.name].size for path in paths} == {len("after")}
                decisions = {v.decision for name in found.values() for v in names.versions(name.id)}
                assert "conflict" not in decisions
        finally:
            strict.close()
            other.close()


@pytest.mark.long("variants")
@pytest.mark.mounted
@pytest.mark.logs(AWAY)
@pytest.mark.parametrize("durability", ["local", "shared"])
@pytest.mark.claim("SHARE-2", "SHARE-5")
def test_a_delivery_whose_acknowledgement_is_lost_is_done_once(
    seaweedfs: Server, tmp_path: Path, durability: str
) -> None:
    with closing(Losing(process.ports_before(seaweedfs.folder)[0])) as wire:
        settings = settings_of(seaweedfs, f'durability = "{durability}"\n', wire.port)
        here, there = host(tmp_path / "here", settings), host(tmp_path / "there", settings)
        try:
            here.environment |= {"KGFS_PIPELINE_SETTLE": "0.1"}
            documents = here.mount("--no-worker").ontology("Notes") / "documents"
            path, large = documents / "a.txt", documents / "b.bin"
            with wire.losing(b"/ledger/entries/"):
                told = [is_taken(path, b"first"), is_taken(large, bytes(200_000))]
                until(lambda: wire.lost > 0, SEEN)
            assert told == [durability == "local"] * 2
            until(partial(is_taken, path, b"first"), 60)
            until(partial(is_taken, large, bytes(200_000)), 60)
            settled(here)
            here.umount()
            same_rows((here, there))
            with open_stores(load(there.home)) as stores:
                names = stores.catalog.names
                (ontology,) = names.ontologies()
                shown = {name.name: names.versions(name.id) for name in names.children(ontology.root)}
                contents = {
                    name: [(v.decision, stores.garage.objects.get(v.key)) for v in kept] for name, kept in shown.items()
                }
            assert contents == {"a.txt": [("insert", b"first")], "b.bin": [("insert", bytes(200_000))]}
        finally:
            here.close()
            there.close()


WRITTEN = {"small.txt": b"of there, not settled", "large.bin": bytes(200_000), "empty": b""}


@pytest.mark.claim("MOVE-3")
@pytest.mark.parametrize("shared", [False, True])
def test_a_home_that_shares_its_bucket_moves_with_what_others_have_written(
    seaweedfs: Server, tmp_path: Path, shared: bool
) -> None:
    """Also with what is not settled, of which it has no bytes itself."""
    settings = settings_of(seaweedfs)
    here, there = host(tmp_path / "here", settings), host(tmp_path / "there", settings)
    with open_stores(load(there.home)) as stores, open_deposits(load(there.home), stores) as (deposits, _):
        root = deposits.make_ontology("Notes", 0o755, 0, 0).root
        for name, content in WRITTEN.items():
            file = deposits.open(deposits.make_file(root, name, 0o644, 0, 0).id, write=True)
            file.write(0, content)
            file.flush()
            file.release()
    (tmp_path / "a.txt").write_text("of here")
    here.run("ingest", tmp_path / "a.txt", "--ontology", "Notes")
    with open_stores(load(here.home)) as stores:
        stores.garage.objects.put(f"{LEAVING}0123456789ab/sources/Notes/0123.txt", b"given up")
    (tmp_path / "goal.toml").write_text(settings_of(seaweedfs) if shared else "")
    here.run("migrate", "--to", tmp_path / "goal.toml", "--into", tmp_path / "moved")
    config = load(tmp_path / "moved")
    for _ in ("not settled", "settled"):
        with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
            names = stores.catalog.names
            (ontology,) = names.ontologies()
            found = {}
            for name in names.children(ontology.root):
                with closing(deposits.content(name.id)) as content:
                    found[name.name] = content.read_at(0, content.size)
            assert found == WRITTEN | {"a.txt": b"of here"}
            deposits.settler.settle_now()
            assert all(name.settled for name in names.children(ontology.root))
    with open_stores(config) as stores:
        assert list(stores.garage.objects.keys(WAITING)) == []
        assert shared or list(stores.garage.objects.keys(LEAVING)) == []


@pytest.mark.claim("SHARE-1")
@pytest.mark.logs(AWAY)
@pytest.mark.parametrize("name", [*S3])
@pytest.mark.parametrize("mebibytes", [2, 24], ids=["one part", "parts"])
def test_the_bytes_of_a_large_file_go_to_the_bucket_once(
    name: str, mebibytes: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Though they wait there first to be settled; and what is read soon is at hand afterwards."""
    server: Server = request.getfixturevalue(name)
    with closing(Losing(process.ports_before(server.folder)[0])) as wire:
        here = host(tmp_path / "here", settings_of(server, port=wire.port).replace("timeout = 5", "timeout = 60"))
        config, content = load(here.home), os.urandom(mebibytes << 20)
        with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
            root = deposits.make_ontology("Notes", 0o755, 0, 0).root
            file = deposits.open(made := deposits.make_file(root, "large.bin", 0o644, 0, 0).id, write=True)
            for start in range(0, len(content), 1 << 20):
                file.write(start, content[start : start + (1 << 20)])
            file.flush()
            file.release()
            stores.exchange()
            assert [size for _, size in stores.garage.objects.keys(WAITING)] == [len(content)]
            deposits.settler.settle_now()
            stores.exchange()
            row = stores.catalog.names.name(made)
            assert row is not None and row.settled and row.key.startswith("sources/")
            assert list(stores.garage.objects.keys(WAITING)) == []
            assert len(content) < wire.sent < 1.5 * len(content)
            if mebibytes == 2:
                wire.close()  # it is cached
            assert stores.garage.objects.get(row.key) == content
            assert deposits.copies.spool.exists() and not list(deposits.copies.spool.glob("*-*"))
