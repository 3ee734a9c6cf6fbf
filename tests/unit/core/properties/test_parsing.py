"""A properties file is read as java.util.Properties reads it; the expected values are those of Java 17."""

import pytest

from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.properties.parsing import read_properties
from tests.each import for_each


def read(tmp_path, text):
    path = tmp_path / "client.properties"
    path.write_bytes(text.encode("latin-1"))
    return read_properties(path)


@for_each(
    ("text", "key", "value"),
    [
        ("a.b=c", "a.b", "c"),
        ("a.b : c", "a.b", "c"),
        ("a.b c", "a.b", "c"),
        ("  a.b\t=\tc  ", "a.b", "c"),
        (r"a\=b\:c\ d=e", "a=b:c d", "e"),
        (r"a.b=\u0070w\=\:\#\!", "a.b", "pw=:#!"),
        (r"a.b=C:\\keys\\k.jks", "a.b", r"C:\keys\k.jks"),
        (r"a.b=one\ttwo\q", "a.b", "one\ttwoq"),
        ("a.b=one\\\n   two\\\n\tthree", "a.b", "onetwothree"),
        ("a.b=one\\\\\nc.d=two", "a.b", "one\\"),
        ("a.b=one\\\r\n  two", "a.b", "onetwo"),
        ("a.b==c", "a.b", "=c"),
        ("a.b=", "a.b", ""),
        ("a.b=caf\xe9", "a.b", "caf\xe9"),
        ("a.b=x\na.b=y", "a.b", "y"),
        ("# a.b=x\\\na.b=y", "a.b", "y"),
        ("a.b=one\\\n# two", "a.b", "one# two"),
    ],
)
def test_a_property_is_what_java_makes_of_it(tmp_path, text, key, value):
    assert read(tmp_path, text)[key].value == value


def test_the_place_is_that_of_the_key_also_after_continuation_lines(tmp_path):
    found = read(tmp_path, "# first\n\na.b=one\\\n  two\n  c.d=three\n")
    assert [(each.line, each.column) for each in found.values()] == [(3, 1), (5, 3)]


def test_a_value_is_never_in_a_repr(tmp_path):
    assert "secret" not in repr(read(tmp_path, "sasl.password=secret"))


@pytest.mark.parametrize(("text", "place"), [("lonely", "1:1"), ("a.b=c\n  lonely\n", "2:3"), ("=c", "1:1")])
def test_what_is_no_property_is_named_by_its_place_and_not_shown(tmp_path, text, place):
    with pytest.raises(InvalidFileError) as caught:
        read(tmp_path, text)
    [problem] = caught.value.problems
    assert f"client.properties:{place}: not a property" in problem
    assert "lonely" not in problem


def test_a_broken_escape_is_named(tmp_path):
    with pytest.raises(InvalidFileError, match=r":1:1: an invalid escape"):
        read(tmp_path, r"a.b=\u12")


def test_what_is_not_text_and_what_is_not_there_are_usage_errors(tmp_path):
    with pytest.raises(UsageError, match="is not a text file"):
        read(tmp_path, "a\0b")
    with pytest.raises(UsageError, match="no such file"):
        read_properties(tmp_path / "none")
