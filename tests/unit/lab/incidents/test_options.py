import pytest

from kfix.core.errors import UsageError
from kfix.lab import INCIDENTS
from kfix.lab.definition.state import BrokerDef
from kfix.lab.incidents.latent import unfit
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.options import checked
from kfix.lab.incidents.setup.single_replicas import chosen_brokers, victim
from tests.each import for_each


def options(name, **given):
    return checked(INCIDENTS[name], given)


def test_where_nothing_is_said_the_first_choice_holds():
    assert options("stuck-reassignment") == {"cancel": "safe"}
    assert options("isr-gone") == {"shorter_first": "no"}
    assert options("weak-topic") == {}


@pytest.mark.parametrize("given", [{"shorter-first": "yes"}, {"shorter_first": "yes"}, {"shorter_first": True}])
def test_an_option_is_known_with_dashes_and_with_underscores_and_takes_a_truth_for_a_yes(given):
    assert checked(INCIDENTS["isr-gone"], given) == {"shorter_first": "yes"}


def test_numbers_arrive_as_numbers():
    assert options("foreign-reassignment", rate="3", megabytes="19") == {"rate": 3, "megabytes": 19}


@for_each(
    ("name", "given", "said", "hint"),
    [
        ("healthy", {"where": "here"}, "healthy has no option 'where'", "its options: none"),
        ("weak-topic", {"size": "1"}, "weak-topic has no option 'size'", "its options: megabytes"),
        ("stuck-reassignment", {"cancel": "maybe"}, "option cancel=maybe: no such choice", "safe or unsafe"),
        ("isr-gone", {"shorter-first": "on"}, "option shorter-first=on: no such choice", "no or yes"),
        ("weak-topic", {"megabytes": "20"}, "option megabytes=20 is out of bounds", "1 to 19"),
        ("weak-topic", {"megabytes": "0"}, "option megabytes=0 is out of bounds", "1 to 19"),
        ("foreign-reassignment", {"rate": "slow"}, "option rate='slow' is not a number", ""),
        ("left-over-throttles", {"rate": "1e9"}, "option rate='1e9' is not a number", ""),
    ],
)
def test_an_option_that_makes_no_sense_is_told_with_what_would(name, given, said, hint):
    with pytest.raises(UsageError) as told:
        checked(INCIDENTS[name], given)
    assert str(told.value).startswith(said)
    assert hint in (told.value.hint or "")


def brokers(*racks):
    return [BrokerDef(number, 12_000 + number, rack) for number, rack in enumerate(racks, start=1)]


@pytest.mark.parametrize("racks", [("a", "a", "b", "b"), ("a", "b", "b", "b"), ("a", "a", "b", None)])
def test_brokers_with_two_racks_one_of_them_with_two_brokers_will_do(racks):
    assert unfit(brokers(*racks)) == ""


@pytest.mark.parametrize(
    ("racks", "why"),
    [
        ((None, None, None, None), "no rack"),
        (("a", "a", "a", "a"), "1 rack, at least 2 are needed"),
        (("a", "b", "c", "d"), "no rack of a, b, c, d has two brokers"),
    ],
)
def test_brokers_whose_racks_will_not_do_are_refused_with_the_reason_and_the_way(racks, why):
    assert why in unfit(brokers(*racks))
    assert "--racks a,a,b,b" in unfit(brokers(*racks))


class Cluster:
    """Enough of an `Access` and a `Lab` for a context that only chooses."""

    def __init__(self, controller=1, ids=(1, 2, 3)):
        self.number = controller
        self.state = self
        self.brokers = tuple(BrokerDef(each, 12_000 + each, None) for each in ids)

    def controller(self):
        return self.number


def context(**given):
    cluster = Cluster()
    return IncidentContext(cluster, cluster, given, lambda _: None)


def test_who_dies_holds_most_and_is_rather_not_the_controller():
    assert victim(context(), {0: 1, 1: 1, 2: 2}) == 2
    assert victim(context(), {0: 2, 1: 3, 2: 3}) == 3
    assert victim(context(), {0: 1, 1: 1}) == 1
    assert victim(context(kill="3"), {0: 2, 1: 2, 2: 3}) == 3


def test_nobody_dies_where_kill_is_no():
    assert victim(context(kill="no"), {0: 1, 1: 2}) is None


@pytest.mark.parametrize(("kill", "said"), [("9", "kill=9: has none"), ("all", "kill='all' is not a number")])
def test_a_broker_that_holds_nothing_is_not_killed(kill, said):
    with pytest.raises(UsageError, match=said):
        victim(context(kill=kill), {0: 1, 1: 2})


def test_single_replicas_go_to_brokers_that_exist():
    assert chosen_brokers(context(brokers="3,1")) == (3, 1)
    assert chosen_brokers(context()) == ()
    with pytest.raises(UsageError, match="no broker 7"):
        chosen_brokers(context(brokers="1,7"))
