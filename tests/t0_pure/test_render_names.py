"""Names of derived entries: never too long, ids found again, any bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name
from kgfs.render.names import history_folder, id_in, with_id, with_suffix

NAMES = (
    st.one_of(st.binary(min_size=1, max_size=255), st.text("aé𝒳%~.", min_size=1, max_size=80).map(str.encode))
    .filter(lambda raw: b"/" not in raw and b"\0" not in raw and len(raw) <= 255)
    .map(encode_name)
)
IDS = st.integers(1, (1 << 62) - 1)
SUFFIXES = st.sampled_from(["", "@", ".md"])


@settings(max_examples=400, deadline=None)
@given(NAMES, IDS, SUFFIXES)
def test_a_name_with_an_id_fits_and_gives_the_id_back(name: str, name_id: int, suffix: str) -> None:
    made = with_id(name, name_id, suffix)
    assert len(decode_name(made)) <= MAX_NAME_BYTES
    assert made.endswith(suffix) and id_in(made, suffix) == name_id
    assert encode_name(decode_name(made)) == made, "it is how the kernel will ask for it"


@settings(max_examples=400, deadline=None)
@given(NAMES, IDS, SUFFIXES)
def test_a_suffix_is_added_where_there_is_room(name: str, name_id: int, suffix: str) -> None:
    made = with_suffix(name, suffix)
    assert (made is None) is (len(decode_name(name)) + len(suffix) > MAX_NAME_BYTES)
    assert made in (None, name + suffix)
    assert history_folder(name, name_id) == (with_suffix(name, "@") or with_id(name, name_id, "@"))


def test_what_carries_no_id_gives_none() -> None:
    for name in ("plain.md", "x~.md", "x~zz.md", "x~12", "~"):
        assert id_in(name, ".md") is None, name
