"""What is refused when the configuration is loaded: what would otherwise be a default in silence, or no worker could do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.app.home import make_home
from kgfs.config import Config, load
from kgfs.errors import BadInputError, StoreError


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("pipeline.settle", "-1"),
        ("pipeline.chunk_tokens", "0"),
        ("pipeline.concepts_per_document", "0"),
        ("pipeline.max_attempts", "0"),
        ("pipeline.known_concepts", "-1"),
        ("pipeline.match_threshold", "nan"),
        ("pipeline.match_threshold", "1.5"),
        ("pipeline.strategy", '"popular"'),
        ("models.embedder", '"mini"'),
        ("models.extractor", '"gramar"'),
        ("models.threads", "-1"),
        ("tree.trash_days", "-1"),
        ("tree.trash_days", "999999"),
        ("pipeline.settle", "inf"),
        ("pipeline.lease", "inf"),
        ("garage.timeout", "nan"),
        ("garage.timeout", "1e7"),
        ("garage.cache_bytes", "-1"),
        ("graph.timeout", "inf"),
        ("vectors.timeout", "inf"),
        ("vectors.timeout", "nan"),
        ("compute.timeout", "inf"),
        ("compute.cpus_each", "nan"),
        ("compute.cpus_each", "0"),
    ],
)
def test_values_that_mean_nothing_are_refused_with_setting_and_file(setting: str, value: str, tmp_path: Path) -> None:
    section, key = setting.split(".")
    file = tmp_path / "config.toml"
    file.write_text(f"[{section}]\n{key} = {value}\n")
    with pytest.raises(BadInputError) as refused:
        load(tmp_path, environ={})
    assert str(refused.value).startswith(f"{setting} is ")
    assert str(file) in str(refused.value)
    with pytest.raises(BadInputError, match=setting):
        load(tmp_path / "none", environ={f"KGFS_{section}_{key}".upper(): value.strip('"')})


def test_a_variable_that_is_no_setting_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"^KGFS_PIPELINE_SETLE: no such setting; known are .*KGFS_PIPELINE_SETTLE"):
        load(Path("none"), environ={"KGFS_PIPELINE_SETLE": "1"})
    assert load(Path("none"), environ={"KGFS_OPTIONS": "--no-worker", "KGFS_TREE_TRASH_DAYS": "0"}).tree.trash_days == 0


@pytest.mark.parametrize("variable", ["KGFS_GRAF_URI", "KGFS_CLUSTER_ADDRESS", "KGFS_NEO4J_PASSWORD_FILE"])
def test_a_variable_that_ends_like_a_setting_and_names_no_section_is_refused(variable: str) -> None:
    with pytest.raises(BadInputError, match=rf"^{variable}: no such setting; .*GRAPH"):
        load(Path("none"), environ={variable: "1"})
    others = {"KGFS_QDRANT_URL": "", "KGFS_SERVERS_HOST": "", "KGFS_FAIL_AT": "", "MY_KGFS_GRAF_URI": ""}
    assert load(Path("none"), environ=others) == load(Path("none"), environ={})


SERVERS = {
    "garage.endpoint": '[garage]\nstore = "s3"\nendpoint',
    "graph.uri": '[graph]\nstore = "neo4j"\nuri',
    "vectors.url": '[vectors]\nstore = "qdrant"\nurl',
    "compute.address": '[compute]\nengine = "ray"\naddress',
}


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        *(
            ("garage.endpoint", address)
            for address in ("", "host:9000", "http://[::1:9000", "http://host/bucket", "https://")
        ),
        *(
            ("graph.uri", address)
            for address in ("host:7687", "bolt://[::1:7687", "bolt://host:port", "bolt+ssc://host")
        ),
        *(
            ("vectors.url", address)
            for address in ("host:6333", "http://[::1:6333", "http://host:66333", "http:///", "http://a b")
        ),
        *(
            ("compute.address", address)
            for address in ("host", "[::1:6379", "host:head", "ray://host:10001", "me:word@host:1")
        ),
    ],
)
def test_an_address_that_is_none_is_refused_with_setting_and_file(setting: str, address: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'{SERVERS[setting]} = "{address}"\n')
    with pytest.raises(BadInputError, match=setting) as refused:
        load(tmp_path, environ={})
    assert str(file) in str(refused.value)
    assert "word@" not in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        *(("garage.endpoint", address) for address in ("https://s3.example.org", "http://[::1]:9000/")),
        *(("graph.uri", address) for address in ("bolt://localhost", "neo4j+s://graph.example.org:7687?policy=near")),
        *(("vectors.url", address) for address in ("http://localhost:6333", "https://example.org/qdrant")),
        *(("compute.address", address) for address in ("", "10.0.0.1:6379", "[::1]:6379")),
    ],
)
def test_an_address_that_is_one_is_taken(setting: str, address: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'{SERVERS[setting]} = "{address}"\n')
    shown = load(tmp_path, environ={}).shown()
    section, key = setting.split(".")
    assert shown[section][key] == address


@pytest.mark.parametrize(
    ("key", "word"),
    [
        *(("prefix", word) for word in ("team//home", "../home", ".")),
        *(("region", word) for word in ("eu\n", "eu west", "ü")),
    ],
)
def test_a_place_in_a_bucket_that_servers_understand_differently_is_refused(key: str, word: str) -> None:
    with pytest.raises(BadInputError, match=f"^garage.{key} "):
        load(Path("none"), environ={f"KGFS_GARAGE_{key}".upper(): word})
    for prefix in ("", "/", "/a/", "team/home.one/"):
        assert load(Path("none"), environ={"KGFS_GARAGE_PREFIX": prefix}).garage_store.prefix == prefix
    assert load(Path("none"), environ={"KGFS_GARAGE_REGION": "eu-central-1"}).garage_store.region == "eu-central-1"


def test_a_folder_of_nobody_is_refused_with_its_setting(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[graph]\npassword_file = "~nobody-of-that-name/word"\n')
    with pytest.raises(BadInputError, match=rf"^{file}: graph\.password_file: .*~nobody-of-that-name"):
        load(tmp_path, environ={})
    with pytest.raises(BadInputError, match=r"^KGFS_GRAPH_PASSWORD_FILE: .*~nobody-of-another"):
        load(tmp_path, environ={"KGFS_GRAPH_PASSWORD_FILE": "~nobody-of-another-name/word"})
    with pytest.raises(BadInputError, match=r"KGFS_HOME.*~nobody"):
        load(Path("~nobody-of-that-name/home"), environ={})


def test_a_home_that_cannot_be_one_says_how_to_name_another() -> None:
    with pytest.raises(BadInputError, match=r"^/dev/null/x/config.toml: .*--home or KGFS_HOME"):
        load(Path("/dev/null/x"), environ={})
    with pytest.raises(StoreError, match=r"^/dev/null/x: .*--home or KGFS_HOME"):
        make_home(Config(home=Path("/dev/null/x")))


def test_relative_names_of_files_count_from_the_folder_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the folder a process is in: mounts and workers are in another one than the verb that starts them."""
    folder = tmp_path / "settings"
    folder.mkdir()
    (folder / "team.toml").write_text(
        '[garage]\naccess_key_file = "keys/access"\nsecret_key_file = "/keys/secret"\n[graph]\npassword_file = "~/word"\n'
    )
    environ = {"KGFS_GRAPH_CA_FILE": "ca.pem", "KGFS_COMPUTE_TOKEN_FILE": ""}
    monkeypatch.chdir(tmp_path)
    for config in (
        load(tmp_path / "home", Path("settings/team.toml"), environ),
        load(tmp_path / "home", environ={**environ, "KGFS_CONFIG": "settings/team.toml"}),
    ):
        assert config.garage_store.access_key_file == str(folder / "keys/access")
        assert config.garage_store.secret_key_file == "/keys/secret"
        assert config.graph.password_file == "~/word"
        assert config.graph.ca_file == str(folder / "ca.pem")
        assert config.cluster.token_file == config.vectors.api_key_file == ""
        assert config.file == folder / "team.toml"
    assert load(Path("home"), environ=environ).graph.ca_file == str(tmp_path / "home/ca.pem")
