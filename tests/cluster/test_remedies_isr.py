"""What an election outside the ISR loses, a lowered min.insync.replicas, and a broker id that is gone for good."""

from kfix.core.kafka import requests
from kfix.core.snapshot.snapshot import TopicPartition
from tests.cluster.seen import in_sync
from tests.waiting import wait_until

LEDGER = TopicPartition("ledger", 0)
STARTS = {"KFX104", "KFX105"}


def waiting(operator, planned):
    """A run that tells a person what to do, in a process of its own."""
    before = [each.id for each in operator.runs()]
    going = operator.begin(planned)
    run = wait_until(lambda: [each for each in operator.runs() if each.id not in before], "the run begins")[0]
    wait_until(lambda: run.of("step.waiting"), "the run waits for a person", 30)
    return going, run


def proved(going, run):
    said = going.over()
    assert (said.code, run.end) == (0, "proved"), said.out + said.err
    return said


def named(planned):
    """{partition: what a person is told}."""
    return {step["target"]: step["what"] for step in planned.steps("manual.bring_back")}


def test_lowering_min_isr_is_typed_and_stays_reported_until_it_is_rolled_back(operator, cluster):
    broken = cluster.lab.break_("under-min-isr")
    before = cluster.access.configs("topics")["ledger"]
    planned = operator.plan("under-min-isr", params={"settle": "1s", "relax_to": 1})
    assert planned.gates["relax"] == "typed"
    operator.apply(planned, typed=False, code=4)
    assert cluster.access.produce_error("ledger", 0, "all") != ""
    said = operator.healed(planned)
    assert "min.insync.replicas" in said.out
    assert cluster.access.produce_error("ledger", 0, "all") == ""
    run = operator.ran(planned)
    verified = operator.on("runbook", "verify", run.id)
    assert (verified.code, "still pending" in verified.out) == (0, True), verified.out + verified.err
    cluster.lab.restart(*broken.dead)
    # Before they are in sync, to demand them again would stop the producers: the guard refuses it.
    every = [TopicPartition("ledger", number) for number in cluster.access.assignment("ledger")]
    wait_until(lambda: all(in_sync(cluster, tp) for tp in every), "the ledger is in sync", 30)
    operator.take_back(run)
    assert cluster.access.configs("topics")["ledger"] == before
    verified = operator.on("runbook", "verify", run.id)
    assert "still pending" not in verified.out + verified.err


def test_an_unclean_election_is_bounded_typed_and_takes_the_longest_log(operator, cluster):
    broken = cluster.lab.break_("isr-gone", **{"shorter-first": "yes"})
    [dead], told = broken.dead, broken.details
    live = [b for b in cluster.access.assignment("ledger")[0] if b != dead]
    ends = {b: told[f"log_end_{b}"] for b in (*live, dead)}
    longest = max(live, key=ends.get)
    assert told["would_win"] != longest
    before = cluster.access.state(*LEDGER)

    assert "the number of lost records is unknown" in operator.not_planned("unclean-election")
    [election] = operator.plan("unclean-election", params={"max_loss": -1}).steps("leader.elect_unclean")
    tails = dict(tail.split(":") for tail in election["args"]["tails"].split())
    # The ISR shrank under one leader: its last record is of the epoch of theirs.
    known = {"known_end": ends[dead], "known_epoch": int(tails[str(longest)].split("/")[0])}
    bounded = known | {"max_loss": ends[dead] - ends[longest]}
    end_alone = operator.not_planned("unclean-election", params={**bounded, "known_epoch": -1})
    assert "known_epoch, the epoch of its last record, is not given" in end_alone
    assert operator.plan("unclean-election", params=bounded).ids
    tight = operator.not_planned("unclean-election", params=bounded | {"max_loss": bounded["max_loss"] - 1})
    assert f"max_loss allows {bounded['max_loss'] - 1}" in tight
    wrong = operator.not_planned("unclean-election", params={"known_end": ends[longest] - 1, "max_loss": -1})
    assert "is not where the last leader's log ended" in wrong or "before the log end" in wrong

    planned = operator.plan("unclean-election", params=known | {"max_loss": -1})
    [election] = planned.steps("leader.elect_unclean")
    args = election["args"]
    assert (args["winner"], args["winner_end"]) == (longest, ends[longest])
    assert (args["lost_at_least"], args["lost_at_most"]) == (0, told["only_on_dead_leader"])
    assert election["phrase"].endswith(f"broker {longest}")
    assert planned.gates[election["id"]] == "typed"
    for level in ("", "plan", "step"):
        operator.moves_house(f"with-{level or 'nothing'}")
        planned = operator.plan("unclean-election", params=known | {"max_loss": -1})
        # What will surely be asked must be answered beforehand: not even the order is changed.
        said = operator.apply(planned, level=level, typed=False, code=4)
        assert "--ack" in said.err
        assert "nothing was changed" in said.err
        assert cluster.access.state(*LEDGER).leader == -1
    operator.moves_house("typed")
    planned = operator.plan("unclean-election", params=known | {"max_loss": -1})
    assert cluster.access.state(*LEDGER).isr == before.isr

    done = operator.healed(planned)
    assert cluster.access.state(*LEDGER).leader == longest
    assert cluster.access.assignment("ledger")[0][0] == longest
    assert "isr_full" in done.out
    run = operator.ran(planned)
    verified = operator.on("runbook", "verify", run.id)
    assert (verified.code, "still pending" in verified.out) == (0, True), verified.out + verified.err
    cluster.lab.restart(dead)
    wait_until(lambda: in_sync(cluster, LEDGER), "the old leader is in sync again", 30)
    assert {cluster.end(b, LEDGER).offset for b in cluster.lab.broker_ids} == {ends[longest]}
    verified = operator.on("runbook", "verify", run.id)
    assert "still pending" not in verified.out + verified.err


def test_a_winner_that_dies_right_before_the_unclean_election_is_no_success(operator, cluster):
    """Kafka elects the next replica, which lacks more: no election names its winner, so the run says what happened."""
    broken = cluster.lab.break_("isr-gone", **{"shorter-first": "yes"})
    planned = operator.plan("unclean-election", params={"max_loss": -1})
    [election] = planned.steps("leader.elect_unclean")
    winner, told = election["args"]["winner"], broken.details
    while cluster.access.controller() in {winner, None}:
        cluster.access.drop_controller()
        wait_until(lambda: cluster.access.controller() is not None, "a controller is elected")
    operator.moves_house("elected")
    planned = operator.plan("unclean-election", params={"max_loss": -1})
    said = operator.dying(planned, winner, requests.ELECT_LEADERS)
    state, other = cluster.access.state(*LEDGER), told["would_win"]
    assert (state.leader, said.code, operator.ran(planned).end) == (other, 6, "step_failed"), said.out + said.err
    text = " ".join((said.out + said.err).split())
    assert f"Kafka elected {other} instead of {winner}" in text
    assert f"before broker {winner} starts, copy its log directory" in text
    assert "HEALED" not in text


def test_a_broker_id_that_is_gone_with_all_copies_is_not_replaced(operator, cluster):
    broken = cluster.lab.break_("broker-ids-gone")
    before = cluster.access.assignment("archive")
    said = operator.not_planned("replace-broker")
    assert "nothing to copy from" in said
    assert f"{min(TopicPartition(*each) for each in broken.partitions)} and 2 more" in said
    assert f"one of brokers [{broken.dead[0]}] must come back" in said
    # What has copies left can be replaced without waiting for what has not.
    planned = operator.plan("replace-broker", params={"without_copy": "leave"})
    lost = {f"{topic}-{number}" for topic, number in broken.partitions}
    assert planned.replicas()
    assert not lost & set(planned.replicas())
    operator.healed(planned)
    assert cluster.access.assignment("archive") == before
    # The broker under the new id holds replicas now, which takes one of the signs away that the old id is gone.
    still = {tp for f in operator.diagnose("--debounce", "0").every if f["code"] in STARTS for tp in f["partitions"]}
    assert still == lost
