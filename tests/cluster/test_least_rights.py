"""Runbooks with exactly the rights that docs/security.md lists: refused without them, and nothing denied with them."""

import json
import re
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from kfix.lab import Lab, LabSpec
from kfix.lab.clients.rights import grant, revoke
from tests.cluster.conftest import own_lab
from tests.cluster.kraft_healing.conftest import CLEANER
from tests.cluster.remedy import Operator, Planned
from tests.cluster.test_missing_rights import denials
from tests.deaths.cases import CASES as KILLED
from tests.deaths.cases import Case, offsets_to_restore
from tests.matrix.remedies import Scene, carried_out, modes_of
from tests.security.rights import of_runbooks
from tests.waiting import wait_until

#: What a broker needs, at most, to take over a right.
_TAKEN_OVER_SECONDS = 1.5
#: What docs/security.md describes: where an offsets partition leaves a doubt, its log is asked for.
_IN_DOUBT = re.compile(r"Operation = Read .* on resource = Topic:LITERAL:__consumer_offsets for request = Fetch")
#: Topics of the scenes themselves, which the lab's `mend` does not know.
_MADE = {"strong", "cargo"}


def _strong(scene):
    with scene.lab.access() as access:
        access.create_topic("strong", [[1, 2, 3]], {})
    return ()


def _set_back(scene):
    """Saving needs the rights of the runbook, too."""
    lab = scene.lab
    with lab.access() as access, granted(access, lab.state.spec.principal, of_runbooks()["restore-offsets"]):
        return offsets_to_restore(scene)


ON_ZOOKEEPER = {
    "controller-reelect": Case("metadata-divergence"),
    "coordinator-not-answering": Case("coordinator-silent", {"settle": "2s"}),
    "coordinator-stuck": Case("coordinator-stuck"),
    "metadata-divergence": Case("metadata-divergence"),
    "under-min-isr": Case("under-min-isr", {"settle": "1s", "relax_to": "1"}),
}
#: Need three controllers, or leave newer software behind.
_LEFT_OUT = {
    "quorum-add-voter",
    "quorum-recover",
    "quorum-replace-voter",
    "raise-metadata-version",
    "rolling-restart",
    "rolling-upgrade",
}
#: The others, on the incidents on which they are killed, but for two whose preparation there needs further rights.
ON_KRAFT = {book: case for book, case in KILLED.items() if book not in {*ON_ZOOKEEPER, *_LEFT_OUT}} | {
    "durable-defaults": Case("healthy", {"topic": "strong"}, prepare=_strong),
    "restore-offsets": replace(KILLED["restore-offsets"], prepare=_set_back),
}
#: A later step of these, which writes to ZooKeeper, heals without a right of Kafka.
HEALED_OTHERWISE = {"coordinator-stuck", "metadata-divergence"}
CASES = {("4.3.1", book): case for book, case in ON_KRAFT.items()}
CASES |= {("2.7.1", book): case for book, case in ON_ZOOKEEPER.items()}


@pytest.fixture(scope="module")
def own(request, tmp_path_factory):
    def start():
        spec = LabSpec(
            name="least",
            kafka=request.param,
            ids=(1, 2, 3, 4),
            offsets_rf=3,
            racks=("a", "a", "b", "b"),
            security="sasl_plaintext",
            mechanism="SCRAM-SHA-256",
            acls=True,
            settings=CLEANER,
        )
        return Lab.up(spec)

    with own_lab(tmp_path_factory, start) as own:
        yield own


@pytest.fixture
def acl_lab(own, request):
    return own.of(request)


@contextmanager
def granted(access, principal, rights):
    if not rights:
        yield
        return
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


def _made(case, lab, operator):
    """Makes the incident; returns (scene, further words of `runbook plan`, parameters)."""
    scene = Scene(lab, operator, lab.break_(case.incident, **case.options))
    params = {name: scene.filled(value) for name, value in case.params.items()}
    words = case.prepare(scene)
    time.sleep(_TAKEN_OVER_SECONDS)
    return scene, words, params


@pytest.mark.parametrize(("own", "book"), tuple(CASES), indirect=["own"])
def test_a_runbook_needs_the_documented_rights_and_no_other(acl_lab, tmp_path, book):
    lab, rights = acl_lab, of_runbooks()[book]
    case, otherwise = CASES[lab.state.spec.recipe.kafka, book], book in HEALED_OTHERWISE
    assert lab.state.spec.recipe.mode in modes_of(book)
    principal = lab.state.spec.principal
    eve, ann = (_operator(lab, tmp_path, name) for name in ("eve", "ann"))
    try:
        with lab.access() as access:
            scene, words, params = _made(case, lab, ann)
            if rights:
                refused_without(eve, book, words, params, otherwise=otherwise)
            if otherwise:
                lab.mend()
                scene, words, params = _made(case, lab, ann)
            with granted(access, principal, rights):
                before = {*denials(lab)}
                planned = wait_until(lambda: ann.plan(book, *words, params=params), "planned", 5)
                carried_out(scene, planned, case.by_hand)
                assert [each for each in _since(before, lab) if not _IN_DOUBT.search(each)] == []
            ann.check_what_ran()
    finally:
        lab.mend()
        with lab.access() as access:
            for topic in _MADE & {*access.topics()}:
                access.delete_topic(topic)


def _since(before, lab):
    """The denials since, in the log of any broker; each line has its time."""
    return [each for each in denials(lab) if each not in before]


def refused_without(eve, book, words, params, *, otherwise):
    before = {*denials(eve.lab)}
    said, path = eve.planning(book, *words, params=params)
    if path.exists():
        said = eve.apply(Planned(path, json.loads(path.read_text())), code=0 if otherwise else 3)
        if otherwise:
            told = " ".join(said.out.split())
            assert "missing right: Alter for" in told, said.out
            assert "by reelect-controller" in told, said.out
    assert otherwise or said.code != 0, said.out
    assert eve.lab.state.spec.principal in "".join(_since(before, eve.lab)), said.out + said.err
