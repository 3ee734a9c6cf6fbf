import pytest

from kfix.core.errors import UsageError
from kfix.lab.workload.workload import WorkloadPlan, group_in

PLAN = {"bootstrap_servers": "127.0.0.1:1", "topic": "t", "group": "g"}


def test_a_partition_that_the_offsets_topic_does_not_have_is_refused():
    with pytest.raises(UsageError, match="has 5"):
        group_in(5, 5)
    with pytest.raises(UsageError, match="does not exist yet"):
        group_in(0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"acks": "2"},
        {"rate": 0},
        {"seconds": -1},
        {"retries": -1},
        {"produce": False, "consume": False},
        {"group": None},
        {"rate": 1e6, "seconds": 3600},
    ],
)
def test_a_workload_without_bounds_or_sense_is_refused(wrong):
    with pytest.raises(UsageError):
        WorkloadPlan(**(PLAN | wrong))
