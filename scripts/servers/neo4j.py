"""Neo4j Community from Maven Central, as a process of its own: 225 jars and one short Java source."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from scripts.servers.fetching import fetch
from scripts.servers.process import HOST, Running, cache, free_ports, launch, secret, wait_for_port

VERSIONS = {25: "2026.08.1", 21: "2026.08.1", 17: "5.26.0"}
"""By the Java that runs it, best first."""
HERE = Path(__file__).parent
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""With ``KGFS_SERVERS_QUICK``: up in a third of the time, for a server that lives for minutes."""


def java() -> tuple[Path, int]:
    """The best Java of this machine for a version we know, or the one that ``KGFS_SERVERS_JAVA`` names."""
    named = os.environ.get("KGFS_SERVERS_JAVA")
    for wanted in [int(named)] if named else VERSIONS:
        for path in sorted(Path("/usr/lib/jvm").glob(f"*{wanted}*/bin/java")):
            return path, wanted
    raise SystemExit("Neo4j needs Java 17, 21 or 25: apt-get install default-jdk-headless maven")


def installed() -> bool:
    return (_jars() / "complete").exists()


def _jars() -> Path:
    return cache() / f"neo4j-{VERSIONS[java()[1]]}"


def install() -> Path:
    """The folder of jars."""
    version, jars = VERSIONS[java()[1]], _jars()
    if not installed():
        pom = HERE / "neo4j-pom.xml"
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}", f"-Dneo4j={version}"]
        fetch(f"Neo4j {version}", ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(pom), *goal])
        (jars / "complete").touch()
    return jars


def start(folder: Path, ports: tuple[int, ...]) -> Running:
    jars, (runtime, _) = install(), java()
    (port,) = ports or free_ports(1)
    options = QUICK if os.environ.get("KGFS_SERVERS_QUICK") else ()
    command = [runtime, "-Xmx512m", *options, "-cp", *_program(runtime, jars), folder / "data", HOST, port]
    note = launch(folder, [str(word) for word in command], [port])
    wait_for_port(folder, note, port)
    _take_password(folder, port)
    return note


def _program(runtime: Path, jars: Path) -> tuple[str, str]:
    """Class path and what is run from it: compiled where this Java compiles, else the source, compiled at each start."""
    source, compiler = HERE / "Neo4jServer.java", runtime.with_name("javac")
    if not compiler.exists():
        return f"{jars}/*", str(source)
    classes = jars.with_name(f"{jars.name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}")
    if not classes.exists():
        made = Path(tempfile.mkdtemp(dir=jars.parent))
        subprocess.run([compiler, "-cp", f"{jars}/*", "-d", made, source], check=True)
        try:
            made.rename(classes)
        except OSError:  # another process was quicker
            shutil.rmtree(made)
    return f"{classes}:{jars}/*", "Neo4jServer"


def _take_password(folder: Path, port: int) -> None:
    """Give the first user our password; harmless when it has it already."""
    from neo4j import GraphDatabase
    from neo4j.exceptions import AuthError, ClientError, ServiceUnavailable

    password, uri = secret(folder, "password"), f"bolt://{HOST}:{port}"
    deadline = time.monotonic() + 240
    while True:
        try:
            with GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
                driver.execute_query("RETURN 1")  # in its default database, whatever that is called
                return
        except (ServiceUnavailable, ClientError, AuthError) as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"Neo4j on port {port} lets nobody in: {error}") from error
            if isinstance(error, AuthError) and "Unauthorized" in (error.code or ""):
                _change_first_password(uri, password)
            time.sleep(0.5)


def _change_first_password(uri: str, password: str) -> None:
    from neo4j import GraphDatabase

    with GraphDatabase.driver(uri, auth=("neo4j", "neo4j")) as driver:
        change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password"
        driver.execute_query(change, password=password, database_="system")


def settings(folder: Path, ports: tuple[int, ...]) -> str:
    uri = f'uri = "bolt://{HOST}:{ports[0]}"\nuser = "neo4j"\npassword_file = "{folder / "password"}"\n'
    return f'[graph]\nstore = "neo4j"\n{uri}'
