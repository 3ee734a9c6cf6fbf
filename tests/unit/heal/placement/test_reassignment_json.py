"""Kafka's own file of reassignments."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.errors import InvalidFileError
from kfix.heal.placement.reassignment_json import parse, render
from tests.each import for_each
from tests.unit.heal.placement.clusters import tp


def mistakes(text) -> tuple[str, ...]:
    with pytest.raises(InvalidFileError) as refused:
        parse(text, "r.json")
    assert refused.value.hint
    return refused.value.problems


def entry(**more) -> str:
    return json.dumps({"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]} | more]})


def test_written_as_kafka_writes_it_and_read_back() -> None:
    moves = [(tp("t-10"), (1, 2)), (tp("t-2"), (3,))]
    text = render(moves)
    assert text == (
        '{"version":1,"partitions":[{"topic":"t","partition":2,"replicas":[3],"log_dirs":["any"]},'
        '{"topic":"t","partition":10,"replicas":[1,2],"log_dirs":["any","any"]}]}\n'
    )
    assert render(parse(text, "x")) == render(reversed(moves)) == text
    assert parse(render([]), "x") == ()


def test_what_kafka_lets_pass_passes() -> None:
    assert parse(b'\xef\xbb\xbf{"partitions":[{"topic":"a.b","partition":0,"replicas":[1],"more":1}],"x":{}}', "r") == (
        (tp("a.b-0"), (1,)),
    )


def test_what_judge_reports_is_not_reported_here() -> None:
    one = '{"topic":"t","partition":0,"replicas":[]},{"topic":"t","partition":0,"replicas":[1,1]}'
    assert parse(f'{{"version":1,"partitions":[{one}]}}', "r") == ((tp("t-0"), ()), (tp("t-0"), (1, 1)))


def test_the_place_of_what_is_no_json() -> None:
    assert mistakes('{"version":1,\n "partitions":[}') == ("r.json:2:16: Expecting value",)
    assert mistakes(b'{"version":\xff}') == ("r.json:1:1: not UTF-8 text (byte 11)",)
    assert mistakes("") == ("r.json:1:1: Expecting value",)
    assert mistakes("[" * 100_000) == ("r.json:1:1: nested too deep to be a reassignment",)


@for_each(
    ("text", "says"),
    [
        ("[]", "r.json:1:1: a list is not a reassignment"),
        ("NaN", "r.json:1:1: NaN is not a reassignment"),
        ("{}", "r.json: no partitions"),
        ('{"partitions":{}}', "r.json: partitions is an object, wanted a list"),
        ('{"partitions":[],"version":2}', "r.json: version is 2, kfix and Kafka know 1"),
        ('{"partitions":[],"version":true}', "r.json: version is true, kfix and Kafka know 1"),
        ('{"partitions":[],"version":NaN}', "r.json: version is NaN, kfix and Kafka know 1"),
        ('{"partitions":[],"partitions":[]}', 'r.json: the key "partitions" is given more than once'),
        (
            '{"version":1,"topics":[{"topic":"t"}]}',
            "r.json: this is the list of topics to move for `--generate`: it names what to move, but not where to",
        ),
    ],
)
def test_the_file_as_a_whole(text, says) -> None:
    assert mistakes(text) == (says,)


@for_each(
    ("given", "says"),
    [
        ({"replicas": [1, True]}, " (t-0): replicas holds true, wanted broker ids from 0 on"),
        ({"replicas": [1, -1]}, " (t-0): replicas holds -1, wanted broker ids from 0 on"),
        ({"replicas": [1, [2]]}, " (t-0): replicas holds a list, wanted broker ids from 0 on"),
        ({"replicas": "1,2"}, ' (t-0): replicas is "1,2", wanted a list of broker ids'),
        ({"partition": 1.0}, ": partition is 1.0, wanted a number from 0 on"),
        ({"partition": 2**31}, ": partition is 2147483648, wanted a number from 0 on"),
        ({"topic": ".."}, ": topic \"..\" is not a topic name (letters, digits, '.', '_', '-', at most 249)"),
        ({"topic": None}, ": topic null is not a topic name (letters, digits, '.', '_', '-', at most 249)"),
        (
            {"log_dirs": ["any", "/data/1"]},
            ' (t-0): log_dirs holds "/data/1"; kfix moves no directories, write "any" or leave log_dirs out',
        ),
        ({"log_dirs": ["any"]}, " (t-0): 2 replicas and 1 log_dirs; one each, or leave log_dirs out"),
        ({"log_dirs": "any"}, ' (t-0): log_dirs is "any", wanted a list'),
    ],
)
def test_one_entry(given, says) -> None:
    assert mistakes(entry(**given)) == (f"r.json: partition entry 1{says}",)


def test_all_mistakes_at_once_by_the_number_of_the_entry() -> None:
    good = '{"topic":"t","partition":0,"replicas":[1]}'
    huge = '{"topic":"t","topic":"t","partition":' + "9" * 5000 + ',"replicas":[NaN]}'
    assert mistakes(f'{{"version":3,"partitions":[{good},7,{{}},{huge}]}}') == (
        "r.json: version is 3, kfix and Kafka know 1",
        "r.json: partition entry 2: 7 is not an object with topic, partition and replicas",
        "r.json: partition entry 3: topic is missing",
        "r.json: partition entry 3: partition is missing",
        "r.json: partition entry 3: replicas is missing",
        'r.json: partition entry 4: the key "topic" is given more than once',
        f"r.json: partition entry 4: partition is {'9' * 37}..., wanted a number from 0 on",
        "r.json: partition entry 4: replicas holds NaN, wanted broker ids from 0 on",
    )


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["t", "any"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["version", "partitions", "topics", "topic", "partition", "replicas"]), inner)
    ),
)


@settings(deadline=None)
@given(st.binary() | ANY_JSON.map(json.dumps) | ANY_JSON.map(lambda v: json.dumps({"partitions": [v, v]})))
def test_any_bytes_are_read_or_refused(text) -> None:
    problems: tuple[str, ...] = ()
    try:
        found = parse(text, "r.json")
    except InvalidFileError as error:
        problems = error.problems
    else:
        assert parse(render(found), "again") == tuple(sorted(found))
    assert all(p.startswith("r.json:") and "\n" not in p for p in problems)
