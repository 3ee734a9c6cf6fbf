"""The rules of `kfix.core.derive.versions` on real brokers of every line, and what kfix concludes from them."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.derive.versions import CAPS_MIN_ISR
from tests.cluster.conftest import Kfix
from tests.cluster.seen import Cluster
from tests.cluster.steady import settled
from tests.matrix.cases import PLAIN
from tests.matrix.cell import spec_of
from tests.matrix.results import LINES
from tests.waiting import wait_until

KEY = "min.insync.replicas"


@pytest.fixture(params=[pytest.param(line, marks=pytest.mark.xdist_group(line)) for line in LINES])
def line(request):
    return request.param


def commits(lab, group):
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    consumer = Consumer({"bootstrap.servers": lab.bootstrap_servers, "group.id": group})
    try:
        [done] = consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    except KafkaException:
        return False
    finally:
        consumer.close()
    return done.error is None


def test_a_minimum_above_the_replicas_is_judged_as_the_leaders_of_this_line_judge_it(labs, line, tmp_path):
    lab = labs.whole(spec_of(line, PLAIN))
    kfix, capped = Kfix(lab, tmp_path / "state"), CAPS_MIN_ISR.tried[line]
    group = lab.break_("healthy").group
    settled(kfix)
    with lab.access() as access:
        access.create_topic("pairs", [[1, 2]], {KEY: "3"})
        access.write_config("topics", OFFSETS_TOPIC, {**access.configs("topics")[OFFSETS_TOPIC], KEY: "4"})
        wait_until(lambda: commits(lab, group) == capped, f"commits {'work' if capped else 'fail'}", 30)
        assert access.produce_error("pairs", 0, "all") == ("" if capped else "NOT_ENOUGH_REPLICAS")
        said = kfix.diagnose()
        least = len(access.assignment(OFFSETS_TOPIC)[partition_of_group(group, 5)])
        assert Cluster(lab, access).works(group)
    assert least == 3
    assert (said.code, {"KFX301", "KFX304"} & said.findings.keys()) == (
        (0, set()) if capped else (21, {"KFX301", "KFX304"})
    )
    lab.mend()
