"""An authorizer, and the least rights of kfix: each one that is taken away is named, and nothing is called healthy."""

import itertools
import os

import pytest

from kfix.lab import Lab, LabSpec
from kfix.lab.clients.rights import grant, revoke
from kfix.lab.definition.rights import CLUSTER, READING, Right
from tests.cluster.conftest import Kfix
from tests.cluster.remedy import Operator
from tests.cluster.seen import wait_until

LINES = (("2.7.1", "zk"), ("3.9.2", "zk"), ("3.9.2", "kraft"), ("4.3.1", "kraft"))
ALL = tuple(itertools.product(LINES, (("mtls", None), ("sasl_plaintext", "SCRAM-SHA-256"))))
CORE = ((LINES[0], ("mtls", None)), (LINES[3], ("sasl_plaintext", "SCRAM-SHA-256")))
LABS = ALL if os.environ.get("KFIX_TEST_SECURITY") == "all" else CORE
#: {right: option of kafka-acls.sh that grants it}
OPTIONS = {"CLUSTER": "--cluster", "TOPIC": "--topic '*'", "GROUP": "--group '*'"}
#: With ZooKeeper, the settings of topics are read there.
NOT_NEEDED = {("zk", Right("DESCRIBE_CONFIGS", "TOPIC"))}
WORDS = {"DESCRIBE": "Describe", "DESCRIBE_CONFIGS": "DescribeConfigs"}


@pytest.fixture(scope="module", params=LABS, ids=lambda each: "-".join(filter(None, (*each[0], *each[1]))))
def lab(request, tmp_path_factory):
    (version, mode), (security, mechanism) = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        lab = Lab.up(
            LabSpec(
                name="rights", kafka=version, mode=mode, ids=(7,), security=security, mechanism=mechanism, acls=True
            )
        )
        with lab.access() as access:
            access.create_topic("payments", [[7]], {})
            access.produce("payments", {0: [("k", b"v")]})
            access.join_and_leave("pay", "payments")
        yield lab
        lab.down()


@pytest.fixture
def diagnosed(lab, tmp_path):
    kfix = Kfix(lab, tmp_path / "state")

    def diagnose():
        return kfix.run("diagnose", "--json", "--debounce", "1", "--command-config", lab.client_files[0])

    return diagnose


def test_the_least_rights_are_enough(diagnosed):
    said = diagnosed()
    assert (said.code, said.json["could_not_read"]) == (0, []), said.out


def test_a_change_without_its_right_is_refused_by_name_and_changes_nothing(lab, tmp_path):
    if lab.state.spec.recipe.mode == "kraft":
        return  # kfix changes nothing on KRaft
    principal, right = lab.state.spec.principal, Right("ALTER_CONFIGS", "CLUSTER", CLUSTER)
    ann = Operator(lab, tmp_path, "ann")
    ann.where = ("--command-config", lab.client_files[0])
    with lab.access() as access:
        access.write_config("brokers", "7", {"leader.replication.throttled.rate": "1000"})
        said = ann.apply(ann.plan("sweep-throttles"), level="plan", code=3)
        text = " ".join((said.out + said.err).split())
        command = f"kafka-acls.sh --add --allow-principal '{principal}' --operation AlterConfigs --cluster"
        assert command in text, text
        assert access.configs("brokers")["7"] == {"leader.replication.throttled.rate": "1000"}
        grant(access.admin(), principal, [right])
        bob = Operator(lab, tmp_path, "bob")
        bob.where = ann.where
        wait_until(lambda: bob.apply(bob.plan("sweep-throttles"), level="plan").code == 0, "the right is there", 10)
        revoke(access.admin(), principal, [right])


@pytest.mark.parametrize("right", READING, ids=str)
def test_a_right_that_is_missing_is_named_with_the_command_that_grants_it(lab, diagnosed, right):
    if (lab.state.spec.recipe.mode, right) in NOT_NEEDED:
        return
    principal = lab.state.spec.principal
    with lab.access() as access:
        admin = access.admin()
        revoke(admin, principal, [right])
        try:
            wait_until(lambda: diagnosed().code == 22, "the right is gone", 10)
            texts = diagnosed().json["could_not_read"]
        finally:
            grant(admin, principal, [right])
    command = (
        f"kafka-acls.sh --add --allow-principal '{principal}' --operation {WORDS[right.operation]} "
        f"{OPTIONS[right.resource]}"
    )
    assert any(command in text for text in texts), texts
    wait_until(lambda: diagnosed().code == 0, "the right is back", 10)
