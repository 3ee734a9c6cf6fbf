"""Runbooks with exactly the rights that docs/security.md lists for them: refused without, and nothing denied with them.

`make test-security` runs every runbook of `SCENES`; otherwise two run, which need all kinds of rights but one.
"""

import json
import os
import time
from contextlib import contextmanager

import confluent_kafka
import pytest

from kfix.lab import Lab, LabSpec
from kfix.lab.clients.rights import grant, revoke
from tests.cluster.remedy import Operator, Planned, moves_file
from tests.cluster.seen import wait_until
from tests.cluster.test_missing_rights import denials
from tests.matrix.remedies import modes_of
from tests.security.rights import of_runbooks

#: What a KRaft broker needs, at most, to take over a right from the metadata log.
_TAKEN_OVER_SECONDS = 1.5
#: Topics of the scenes themselves, which the lab's `mend` does not know.
_MADE = {"strong", "cargo"}


def _broken(incident, params=(), **options):
    """An incident of the lab; `params` of the runbook may name its details."""

    def make(lab, _access, _ann):
        broken = lab.break_(incident, **options)
        told = {**broken.details, "group": broken.group}
        return {name: value.format_map(told) for name, value in dict(params).items()}, ()

    return make


def _durable(_lab, access, _ann):
    access.create_topic("strong", [[1, 2, 3]], {})
    return {"topic": "strong"}, ()


def _moves(_lab, access, ann):
    access.create_topic("cargo", [[1], [2]], {})
    return {}, ("--json-in", moves_file(ann, {("cargo", 0): [2, 3]}))


def _set_back(lab, access, ann):
    """Offsets that were saved, and set back to 0 since."""
    broken = lab.break_("healthy")
    path = ann.folder / f"{ann.name}-offsets.json"
    principal, rights = lab.state.spec.principal, of_runbooks()["restore-offsets"]
    with granted(access, principal, rights):
        said = ann.on("offsets", "save", "--partition", "all", "-o", path)
    assert said.code == 0, said.out + said.err
    admin = access.admin()
    [stored] = [
        done.result(10)
        for done in admin.list_consumer_group_offsets(
            [confluent_kafka.ConsumerGroupTopicPartitions(broken.group)]
        ).values()
    ]
    back = [confluent_kafka.TopicPartition(each.topic, each.partition, 0) for each in stored.topic_partitions]
    assert any(each.offset > 0 for each in stored.topic_partitions)
    [done] = admin.alter_consumer_group_offsets(
        [confluent_kafka.ConsumerGroupTopicPartitions(broken.group, back)]
    ).values()
    done.result(10)
    return {"group": broken.group}, ("--offsets", path)


#: {runbook: what makes its incident and returns (parameters, further words of `runbook plan`)}.
SCENES = {
    "abort-transaction": _broken("pending-offsets"),
    "cancel-reassignment": _broken("stuck-reassignment"),
    "durable-defaults": _durable,
    "evict-member": _broken("rebalance-held", {"group": "{group}", "member": "{member}"}),
    "leader-balance": _broken("leader-skew"),
    "move-replicas": _moves,
    "raise-topic-rf": _broken("weak-topic", {"topic": "ledger"}),
    "restore-offsets": _set_back,
    "sweep-throttles": _broken("left-over-throttles"),
    "unclean-election": _broken("elr-struck", {"max_loss": "-1"}),
}
CORE = ("evict-member", "raise-topic-rf")
BOOKS = tuple(SCENES) if os.environ.get("KFIX_TEST_SECURITY") == "all" else CORE


@pytest.fixture(scope="module")
def acl_lab(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        spec = LabSpec(
            name="least",
            kafka="4.3.1",
            offsets_rf=3,
            racks=("a", "b", "c"),
            security="sasl_plaintext",
            mechanism="SCRAM-SHA-256",
            acls=True,
        )
        lab = Lab.up(spec)
        yield lab
        lab.down()


@contextmanager
def granted(access, principal, rights):
    admin = access.admin()
    grant(admin, principal, rights)
    time.sleep(_TAKEN_OVER_SECONDS)
    try:
        yield
    finally:
        revoke(admin, principal, rights)
        time.sleep(_TAKEN_OVER_SECONDS)


def _operator(lab, folder, name):
    one = Operator(lab, folder, name)
    one.where = ("--command-config", lab.client_files[0])
    return one


@pytest.mark.parametrize("book", BOOKS)
def test_a_runbook_needs_the_documented_rights_and_no_other(acl_lab, tmp_path, book):
    lab, rights = acl_lab, of_runbooks()[book]
    assert rights
    assert "kraft" in modes_of(book)
    principal = lab.state.spec.principal
    eve, ann = (_operator(lab, tmp_path, name) for name in ("eve", "ann"))
    try:
        with lab.access() as access:
            params, words = SCENES[book](lab, access, ann)
            time.sleep(_TAKEN_OVER_SECONDS)
            before = len(denials(lab))
            said, path = eve.planning(book, *words, params=params)
            if path.exists():
                said = eve.apply(Planned(path, json.loads(path.read_text())), code=3)
            assert said.code != 0, said.out
            assert principal in "".join(denials(lab)[before:]), said.out + said.err
            with granted(access, principal, rights):
                before = len(denials(lab))
                planned = wait_until(lambda: ann.plan(book, *words, params=params), "planned", 5)
                ann.healed(planned)
                assert denials(lab)[before:] == []
            ann.check_what_ran()
    finally:
        lab.mend()
        with lab.access() as access:
            for topic in _MADE & {*access.topics()}:
                access.delete_topic(topic)
