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
