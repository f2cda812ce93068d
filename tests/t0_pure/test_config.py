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
