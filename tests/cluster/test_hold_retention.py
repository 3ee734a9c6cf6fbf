"""Retention that is held for a slow group: nothing is deleted meanwhile, and the topic's own settings come back."""

import time
from dataclasses import replace

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import make_target
from kfix.heal.live.clusters import open_cluster
from kfix.lab.workload.readers import LIMITED, PARTITIONS, start_readers
from tests.cluster.remedy import operating
from tests.matrix.cases import PLAIN
from tests.matrix.cell import spec_of
from tests.waiting import wait_until

LINES = [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in ("2.7.1-zk", "4.3.1-kraft")]
#: A sixth of the arriving records is read: without the run, retention overtakes the group after 144 s.
TOPIC, GROUP, KEPT_SECONDS = "kept", "archive", 120
OWN = {"retention.ms": str(KEPT_SECONDS * 1000), "segment.ms": "2000"}


def starts(lab):
    with open_cluster(make_target(lab.bootstrap_servers, None)) as opened:
        found = (opened.reader.log_ends(TopicPartition(TOPIC, n), lab.broker_ids) for n in range(PARTITIONS))
        return [max(each.start for each in ends.values()) for ends in found]


def end_workloads(lab):
    for process in lab.state.processes:
        if process.role == "workload":
            lab.kill(process.id, "workload")


@pytest.mark.parametrize("line", LINES)
def test_no_record_is_deleted_until_the_group_has_caught_up_and_then_retention_is_as_before(labs, line, tmp_path):
    often = {"log.retention.check.interval.ms": "1000"}
    lab = labs.whole(replace(spec_of(line, PLAIN), name="matrix-retention", settings=often))
    with operating(lab, tmp_path) as operator, lab.access() as access:
        lab.mend()  # A first try may have left its topic.
        access.create_topic(TOPIC, [list(lab.broker_ids)] * PARTITIONS, OWN)
        start_readers(lab, TOPIC, GROUP, "capacity")
        params = {"topic": TOPIC, "group": GROUP, "lag": "100", "hold_for": "8m"}

        def is_behind():
            return operator.planning("hold-retention", params=params)[1].exists()

        wait_until(is_behind, "the group is behind", 60)
        planned = operator.plan("hold-retention", params=params)
        going = operator.begin(planned)
        run = operator.ran(planned)
        wait_until(lambda: access.configs("topics")[TOPIC].get("retention.ms") == "-1" or going.ended, "it is held", 60)
        assert access.configs("topics")[TOPIC] == {**OWN, "retention.ms": "-1", "retention.bytes": "-1"}
        held = starts(lab)
        time.sleep(KEPT_SECONDS + 15)
        assert starts(lab) == held, "with its own retention, records from before the run would be gone"

        end_workloads(lab)
        start_readers(lab, TOPIC, GROUP, LIMITED)
        said = going.over(300)
        assert (said.code, run.end) == (0, "proved"), said.out + said.err
        assert access.configs("topics")[TOPIC] == OWN
        wait_until(lambda: min(starts(lab)) > max(held), "retention deletes again", 180)
        end_workloads(lab)
