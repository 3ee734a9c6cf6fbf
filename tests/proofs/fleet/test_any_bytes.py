"""No content of a file that an inventory or a pinned cluster id is read from gives a traceback, or is taken as it is.

Bytes that are no text, a file cut off anywhere, and one with a byte changed: each is read, or is one clear line.
"""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kfix.core.contexts.pins import FOLDER, Contexts
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.inventory.load import load_inventory

INVENTORY = b"""apiVersion: kfix/v1
kind: Fleet
defaults: {owner: "team \xc3\xa9", timeout: 10s}
clusters:
  orders-eu:
    bootstrap: "b1:9092,b2:9092"
    id: kqCkPMxMSvWfP1vN1p2dSw
    windows:
      - {weekdays: [mon], at: "22:00", for: 1h}
"""
_BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
_BENT = st.one_of(
    st.integers(0, len(INVENTORY)).map(lambda end: INVENTORY[:end]),
    st.tuples(st.integers(0, len(INVENTORY) - 1), st.integers(0, 255)).map(
        lambda at: INVENTORY[: at[0]] + bytes([at[1]]) + INVENTORY[at[0] + 1 :]
    ),
    st.binary(max_size=80),
)


def mistake(read):
    """Returns the error of an unusable file, None where the file was read; anything else is a fault of kfix."""
    try:
        read()
    except UsageError as error:
        return error
    return None


def test_the_inventory_that_is_bent_is_valid(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_bytes(INVENTORY)
    assert list(load_inventory(path).inventory.clusters) == ["orders-eu"]


@_BOUNDED
@given(_BENT)
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf" + INVENTORY)
def test_an_inventory_of_any_bytes_is_read_or_refused_with_its_place(tmp_path, raw):
    path = tmp_path / "fleet.yaml"
    path.write_bytes(raw)
    error = mistake(lambda: load_inventory(path))
    if isinstance(error, InvalidFileError):
        assert error.problems
        assert all(line.startswith(f"{path}:") and "\n" not in line for line in error.problems)
    elif error is not None:
        assert str(path) in str(error)
        assert "\n" not in str(error)


@_BOUNDED
@given(st.binary(max_size=500))
@example(b"")
@example(b"x" * 500)
@example(b"id\x1b[31m\n")
def test_a_pinned_id_of_any_bytes_is_the_id_or_names_the_file_to_remove(tmp_path, raw):
    contexts = Contexts(tmp_path)
    contexts.pin("a b/c", "first")
    [place] = (tmp_path / FOLDER).rglob("a b*")
    place.write_bytes(raw)
    error = mistake(lambda: contexts.pinned("a b/c"))
    assert place.read_bytes() == raw, "a damaged file stays as it is"
    if error is None:
        found = contexts.pinned("a b/c")
        assert (found, found.isprintable()) == (raw.decode().removesuffix("\n"), True)
        return
    assert str(error).startswith(f"{place}: ")
    assert "\n" not in str(error)
    assert str(place) in error.hint


def test_a_folder_in_the_place_of_a_pinned_id_is_one_line(tmp_path):
    contexts = Contexts(tmp_path)
    contexts.pin("a", "first")
    [place] = (tmp_path / FOLDER).rglob("a")
    place.unlink()
    place.mkdir()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        contexts.pinned("a")
