"""What the ports read and change, asked of real brokers: configs, logs, transactions."""

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kfix.core.errors import UnreachableError
from kfix.core.kafka import questions
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Assignment, Endpoint, TopicPartition
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix.heal.live.clusters import open_cluster
from kfix.lab import Lab, LabSpec
from kfix.lab.nodes.brokers import add_broker
from tests.cluster.conftest import lab_of_its_own
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster-two")]

TOPIC, BROKER = ResourceKind.TOPIC, ResourceKind.BROKER
MIN_ISR, RATE = "min.insync.replicas", "follower.replication.throttled.rate"
THROTTLED = "follower.replication.throttled.replicas"
ORDERS = TopicPartition("orders", 0)


def start():
    lab = Lab.up(LabSpec(name="adapters", ids=(1, 2), racks=("a", "b"), chroot="/kafka"))
    create(lab, "orders", [[1, 2]])
    return lab


own, lab = lab_of_its_own(start)


@pytest.fixture
def cluster(lab):
    with open_cluster(make_target(lab.bootstrap_servers, None)) as opened:
        yield opened


def create(lab, name, assignment):
    admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    topic = NewTopic(name, len(assignment), replica_assignment=assignment)
    admin.create_topics([topic])[name].result(20)
    with lab.access() as access:
        until(lambda: all((s := access.state(name, p)) and s.leader > 0 for p in range(len(assignment))))


def produce(lab, topic, count):
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers, "acks": "all", "log_level": 0})
    for number in range(count):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(30) == 0


def until(holds):
    return wait_until(holds, "the cluster shows it", 30)


def value(cluster, kind, name, key):
    return cluster.reader.configs(kind, name, (key,)).get(key)


# -- configs


def test_a_value_states_whether_it_is_the_topics_own(cluster):
    before = value(cluster, TOPIC, "orders", MIN_ISR)
    assert (before.value, before.own) == ("1", False)
    assert cluster.changer.alter_configs(TOPIC, "orders", {MIN_ISR: "2", THROTTLED: "0:1"}).accepted
    after = until(lambda: (v := value(cluster, TOPIC, "orders", MIN_ISR)).own and v)
    assert after.value == "2"
    assert value(cluster, TOPIC, "orders", "unclean.leader.election.enable").own is False
    assert cluster.changer.alter_configs(TOPIC, "orders", {MIN_ISR: None, THROTTLED: None}).accepted
    until(lambda: not value(cluster, TOPIC, "orders", MIN_ISR).own)
    # The default of this list is there, empty; the throttle's rates of a broker are not (below).
    assert (value(cluster, TOPIC, "orders", THROTTLED).value, value(cluster, TOPIC, "orders", "nonsense")) == ("", None)


def test_a_brokers_value_is_asked_of_that_broker_and_a_secret_is_never_shown(cluster):
    assert {value(cluster, BROKER, b, "broker.rack").value for b in ("1", "2")} == {"a", "b"}
    secret = value(cluster, BROKER, "1", "ssl.keystore.password")
    assert (secret.value, secret.own) == (None, False)
    assert value(cluster, BROKER, "1", RATE) is None
    assert cluster.changer.alter_configs(BROKER, "1", {RATE: "1000000"}).accepted
    assert until(lambda: value(cluster, BROKER, "1", RATE)).own
    assert value(cluster, BROKER, "2", RATE) is None
    assert cluster.changer.alter_configs(BROKER, "1", {RATE: None}).accepted
    until(lambda: value(cluster, BROKER, "1", RATE) is None)


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "orders"), (BROKER, "1")])
def test_to_take_away_what_was_never_set_is_accepted(cluster, kind, name):
    assert cluster.changer.alter_configs(kind, name, {MIN_ISR: None, "nonsense": None}).accepted


@pytest.mark.parametrize(
    ("kind", "name", "changes", "code", "words"),
    [
        (TOPIC, "orders", {MIN_ISR: "0"}, 42, "Value must be at least 1"),
        (TOPIC, "orders", {MIN_ISR: "x"}, 42, "Not a number"),
        (TOPIC, "orders", {MIN_ISR: "2", "nonsense": "1"}, 40, "Unknown topic config name"),
        (TOPIC, "orders", {THROTTLED: "all"}, 42, "must be the literal"),
        (TOPIC, "nowhere", {MIN_ISR: "2"}, 3, "does not exist"),
        (BROKER, "1", {RATE: "x"}, 42, "Not a number"),
        (BROKER, "1", {RATE: "-1"}, 42, "at least 0"),
        (BROKER, "1", {"zookeeper.connect": "z:1"}, 42, "Cannot update these configs dynamically"),
    ],
)
def test_a_bad_change_is_refused_as_a_whole_with_its_reason(cluster, kind, name, changes, code, words):
    result = cluster.changer.alter_configs(kind, name, changes)
    assert (result.code, words in result.message) == (code, True), result
    assert value(cluster, TOPIC, "orders", MIN_ISR).own is False


def test_an_absent_resource_is_an_error_and_no_empty_answer(cluster):
    with pytest.raises(UnreachableError, match="topic nowhere: UNKNOWN_TOPIC_OR_PARTITION"):
        cluster.reader.configs(TOPIC, "nowhere", (MIN_ISR,))
    with pytest.raises(UnreachableError, match="broker 9: is not registered"):
        cluster.reader.configs(BROKER, "9", (MIN_ISR,))
    result = cluster.changer.alter_configs(BROKER, "9", {RATE: "1"})
    assert (result.name, result.unknown) == ("NOT_SENT", False)


def test_a_broker_knows_nothing_of_another_ones_configs(lab):
    """Why a broker is asked itself."""
    host, port = lab.address(1).split(":")
    with (
        BrokerConnection(Endpoint(host, int(port)), Security()) as line,
        pytest.raises(UnreachableError, match="INVALID_REQUEST Unexpected broker id"),
    ):
        questions.ask_configs_of(line, BROKER, "2", (MIN_ISR,), Deadline.after(5))


# -- logs


def test_the_log_directories_show_bytes_and_on_this_version_no_room(lab, cluster):
    before = cluster.reader.log_dirs(1).sizes[ORDERS]
    produce(lab, "orders", 50)
    told = cluster.reader.log_dirs(1)
    assert told.sizes[ORDERS] > before
    assert told.free is None
    with pytest.raises(UnreachableError, match="broker 9"):
        cluster.reader.log_dirs(9)


def test_all_partitions_of_a_topic_are_read_as_they_are_assigned(lab, cluster):
    create(lab, "wide", [[1, 2], [2, 1]])
    assert cluster.reader.assignments("wide") == {
        TopicPartition("wide", 0): Assignment((1, 2)),
        TopicPartition("wide", 1): Assignment((2, 1)),
    }
    assert cluster.reader.assignments("nowhere") == {}


def test_an_open_transaction_holds_the_stable_end_back(lab, cluster):
    create(lab, "ledger", [[2, 1]])
    tp = TopicPartition("ledger", 0)
    produce(lab, "ledger", 3)
    until(lambda: cluster.reader.stable_end(tp).high_watermark == 3)
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers, "transactional.id": "t", "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(4):
        producer.produce("ledger", b"x")
    producer.flush(30)
    open_ = until(lambda: (said := cluster.reader.stable_end(tp)).high_watermark == 7 and said)
    assert open_.stable == 3
    producer.commit_transaction(30)
    # The marker that ends it is a record too.
    closed = until(lambda: (said := cluster.reader.stable_end(tp)).stable > 3 and said)
    assert (closed.stable, closed.high_watermark) == (8, 8)


def test_no_leader_means_no_stable_end(cluster):
    with pytest.raises(UnreachableError, match="nowhere-0: does not exist"):
        cluster.reader.stable_end(TopicPartition("nowhere", 0))


def test_the_tail_of_a_log_has_the_epoch_of_its_last_record_without_a_leader(lab, cluster):
    create(lab, "story", [[1, 2]])
    create(lab, "lonely", [[1]])
    tp = TopicPartition("story", 0)
    empty = cluster.reader.log_tails(tp, (1, 2))
    assert {(t.start, t.end, t.epoch) for t in empty.values()} == {(0, 0, -1)}
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers, "acks": "all", "log_level": 0})
    for _ in range(40):
        producer.produce("story", b"x")
    assert producer.flush(30) == 0
    until(lambda: {(t.end, t.epoch) for t in cluster.reader.log_tails(tp, (1, 2)).values()} == {(40, 0)})
    lab.kill(1)
    until(lambda: cluster.reader.recorded(tp).state.leader == 2)
    epoch = cluster.reader.recorded(tp).state.leader_epoch
    producer.produce("story", b"x")
    assert producer.flush(30) == 0
    gone, there = (cluster.reader.log_tails(tp, (1, 2))[b] for b in (1, 2))
    assert (there.end, there.epoch, there.error) == (41, epoch, "")
    assert (gone.end, gone.epoch, gone.error != "") == (-1, -1, True)
    with pytest.raises(UnreachableError, match="lonely-0: has no leader"):
        cluster.reader.stable_end(TopicPartition("lonely", 0))
    lab.restart(1)
    back = until(lambda: (t := cluster.reader.log_tails(tp, (1,))[1]).end == 41 and t)
    assert back.epoch == epoch


# -- lines


def test_a_broker_that_was_restarted_or_added_later_is_reached(lab, cluster):
    assert cluster.reader.log_dirs(2).sizes
    lab.restart(2)
    assert cluster.reader.log_dirs(2).sizes
    assert 2 in cluster.reader.partition(ORDERS).views
    add_broker(lab, 3, "a")
    assert until(lambda: 3 in cluster.reader.registered_brokers())
    assert cluster.reader.log_dirs(3).sizes == {}
    assert 3 in cluster.reader.partition(ORDERS).views
    assert cluster.changer.alter_configs(BROKER, "3", {RATE: "5000000"}).accepted
