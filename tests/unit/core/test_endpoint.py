"""HOST:PORT, wherever it is written: what is an address, and what is wrong with what is none, with its column."""

import ipaddress
import resource
import string
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kfix.core.collect.collector import collect
from kfix.core.endpoint import parse_endpoint, parse_endpoints
from kfix.core.errors import OwnLimitError, UnreachableError, UsageError
from kfix.core.inventory.meaning import server_problems
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.target import make_target, parse_bootstrap
from kfix.core.zookeeper.connect import parse_connect
from tests.each import for_each

FAULTS = [
    ("[::1", "the bracket is not closed", 5),
    ("[::1:9092", "the bracket is not closed", 10),
    ("[]:9092", "the brackets are empty", 2),
    ("[::1]", "the port is missing", 6),
    ("[::1]9092", "only a colon and the port may follow the bracket", 6),
    ("[::1]]:9092", "only a colon and the port may follow the bracket", 6),
    ("[[::1]]:9092", "the text in brackets is not an IPv6 address", 2),
    ("[broker1]:9092", "the text in brackets is not an IPv6 address", 2),
    ("[1:2:3]:9092", "the text in brackets is not an IPv6 address", 2),
    ("::1:9092", "an IPv6 address needs brackets, as in [::1]:9092", 1),
    ("::1]:9092", "':' is not allowed in a host name", 1),
    ("b1:9092 b2:9092", "it contains a space; separate addresses by commas", 8),
    ("b1:9092\tb2:9092", "it contains a space; separate addresses by commas", 8),
    ("b1:9092,b2 :9092", "it contains a space; separate addresses by commas", 11),
    ("b1:9092;b2:9092", "':' is not allowed in a host name", 3),
    ("b1:9092,,b2:9092", "it is empty; one comma separates two addresses", 9),
    ("b1:9092,", "it is empty; one comma separates two addresses", 9),
    (",", "it is empty; one comma separates two addresses", 1),
    ("b1:9092, b2", "the port is missing", 12),
    ("b1:", "the port is missing", 4),
    (":9092", "the host is missing", 1),
    ("b1:0", "a port is a number from 1 to 65535", 4),
    ("b1:65536", "a port is a number from 1 to 65535", 4),
    ("b1:-1", "a port is a number from 1 to 65535", 4),
    ("b1:90_92", "a port is a number from 1 to 65535", 4),
    ("b1:²", "a port is a number from 1 to 65535", 4),
    ("b1:" + "9" * 5000, "a port is a number from 1 to 65535", 4),
    ("user@b1:9092", "'@' is not allowed in a host name", 5),
    ("b1/x:9092", "'/' is not allowed in a host name", 3),
    ("bröker:9092", "'ö' is not allowed in a host name", 3),
    ("b\x1b[2J:9092", "'\\x1b' is not allowed in a host name", 2),
    ("b1..x:9092", "each part of a host name has 1 to 63 characters and no hyphen at either end", 4),
    ("-b1:9092", "each part of a host name has 1 to 63 characters and no hyphen at either end", 1),
    ("b1.x-:9092", "each part of a host name has 1 to 63 characters and no hyphen at either end", 4),
    ("a" * 64 + ":9092", "each part of a host name has 1 to 63 characters and no hyphen at either end", 1),
    (".".join(["a" * 60] * 5) + ":9092", "a host name has at most 253 characters", 254),
    ("1.2.3:9092", "it is not an IPv4 address, and a host name cannot end in a number", 1),
    ("256.1.1.1:9092", "it is not an IPv4 address, and a host name cannot end in a number", 1),
    ("9092:9092", "it is not an IPv4 address, and a host name cannot end in a number", 1),
]
GOOD = [
    "b1:9092",
    "127.0.0.1:1",
    "[::1]:65535",
    "[fe80::1%eth0]:9092",
    "my_kafka_1:9092",
    "a.b-c.example.:9092",
    "x9:1",
]


@for_each(("text", "why", "column"), [f for f in FAULTS if "/" not in f[0]])
def test_every_reader_of_addresses_names_the_part_at_fault_and_the_column(text: str, why: str, column: int) -> None:
    words = f" is not HOST:PORT: {why} (column {column})"
    for option, read in (("--bootstrap-server", parse_bootstrap), ("--zookeeper", parse_connect)):
        with pytest.raises(UsageError) as refused:
            read(text)
        said = str(refused.value)
        assert said.startswith(f"{option}: '")
        assert said.endswith(words)
        assert said.isprintable()
    if text.strip(","):
        assert any(problem.endswith(words) for problem in server_problems(text, "bootstrap"))


@pytest.mark.parametrize(("text", "why", "column"), [f for f in FAULTS if "/" in f[0]])
def test_a_slash_is_no_part_of_a_brokers_address(text: str, why: str, column: int) -> None:
    with pytest.raises(UsageError, match=rf"\(column {column}\)") as refused:
        parse_bootstrap(text)
    assert why in str(refused.value)


@pytest.mark.parametrize("text", GOOD)
def test_an_address_is_read_and_written_alike(text: str) -> None:
    assert [str(e) for e in parse_bootstrap(f" {text} , {text}")] == [text, text]
    assert [str(e) for e in parse_connect(f"{text}/kafka").servers] == [text]
    assert list(server_problems(text, "bootstrap")) == []


@pytest.mark.parametrize(
    "text", ["zk1:2181/a b", "zk1:2181/a//b", "zk1:2181/../b", "zk1:2181/.", "zk1:2181/\x1b", "z:1/a,z:2/a"]
)
def test_a_path_that_zookeeper_does_not_take_is_no_chroot(text: str) -> None:
    with pytest.raises(UsageError, match="chroot"):
        parse_connect(text)
    assert len(list(server_problems(text, "zookeeper"))) == 1


LABEL = st.from_regex(r"[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,20}[a-zA-Z0-9_])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join).filter(lambda name: not name.rpartition(".")[2].isdigit())
HOST = st.one_of(NAME, st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str))
PORT = st.integers(1, 65535)


@given(st.lists(st.builds(Endpoint, HOST, PORT), min_size=1, max_size=5), st.sampled_from(["", " ", "  "]))
def test_what_is_written_is_read_back(endpoints: list[Endpoint], space: str) -> None:
    assert parse_endpoints(f",{space}".join(map(str, endpoints))) == (tuple(endpoints), ())


@given(st.text(st.sampled_from("[]:.,-_% \tab1é\x00²" + string.digits), max_size=30))
def test_every_text_is_addresses_or_faults_whose_columns_are_in_it(text: str) -> None:
    endpoints, faults = parse_endpoints(text)
    assert len(endpoints) + len(faults) == text.count(",") + 1
    for fault in faults:
        assert 1 <= fault.column <= len(text) + 1
        assert str(fault).isprintable()
    for endpoint in endpoints:
        assert parse_endpoint(str(endpoint)) == endpoint
        assert 1 <= endpoint.port <= 65535
        assert not set(endpoint.host) & set("[] \t,\x00é²")
        if ":" in endpoint.host:
            ipaddress.IPv6Address(endpoint.host)


def test_a_process_without_free_descriptors_has_not_asked_the_cluster():
    """Neither an address nor a name: the resolver calls a name unknown if it cannot open its files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    collect_once = partial(collect, make_target("127.0.0.1:1,localhost:1", "localhost:1", timeout=1.0))
    with pytest.raises(UnreachableError, match="nothing listens there"):
        collect_once()  # Also imports what needs files.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(OwnLimitError, match="not asked: kfix has too many open files"):
            collect_once()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
