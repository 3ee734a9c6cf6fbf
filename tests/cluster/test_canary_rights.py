"""A canary with exactly the rights that docs/canary.md lists, and without each of them."""

import re
from contextlib import contextmanager

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kfix.lab import Lab, LabSpec
from tests.cluster.conftest import lab_of_its_own
from tests.cluster.securing import secrets_of
from tests.places import ROOT

_ROW = re.compile(r"\| (?P<operations>`.*?) \| (?P<kind>topic|groups)[^|]*`(?P<name>[^`]+)` \|")


def start():
    return Lab.up(LabSpec(name="allowed", ids=(1, 2), security="sasl_ssl", mechanism="SCRAM-SHA-512", acls=True))


own, lab = lab_of_its_own(start)


def documented():
    """{(operation, kind, name)} of the table in docs/canary.md."""
    text = (ROOT / "docs/canary.md").read_text()
    rows = [match for line in text.splitlines() if (match := _ROW.match(line))]
    return {(op, row["kind"], row["name"]) for row in rows for op in re.findall(r"`(\w+)`", row["operations"])}


def fields(lab, right):
    operation, kind, name = right
    groups = kind == "groups"
    pattern = ResourcePatternType.PREFIXED if groups else ResourcePatternType.LITERAL
    resource = ResourceType.GROUP if groups else ResourceType.TOPIC
    user = lab.state.spec.principal
    return resource, name, pattern, user, "*", AclOperation[operation.upper()], AclPermissionType.ALLOW


@contextmanager
def allowed(lab, rights):
    """The kfix user has these rights, and none that the lab gave it."""
    with lab.access() as access:
        admin = access.admin()
        every = AclBindingFilter(
            *(ResourceType.ANY, None, ResourcePatternType.ANY, lab.state.spec.principal, None),
            *(AclOperation.ANY, AclPermissionType.ANY),
        )
        [removed] = admin.delete_acls([every], request_timeout=10).values()
        before = removed.result()
        for answer in admin.create_acls([AclBinding(*fields(lab, each)) for each in rights]).values():
            answer.result()
        try:
            yield
        finally:
            [removed] = admin.delete_acls([every], request_timeout=10).values()
            removed.result()
            for answer in admin.create_acls(before).values():
                answer.result()


def test_the_documented_rights_suffice_and_each_is_needed(lab, kfix):
    rights = documented()
    assert len(rights) == 9
    with lab.access() as access:
        access.create_topic("first", [[1, 2]], {})
        access.produce("first", {0: [("key", b"value")]})
        access.join_and_leave("first-readers", "first")
    words = ("canary", "--create-topic", "--within", "8s", "--command-config", lab.client_files[0])
    enough = {}
    for missing in (None, *sorted(rights)):
        with allowed(lab, rights - {missing}):
            said = kfix.run(*words)
        assert not any(secret in said.out + said.err for secret in secrets_of(lab))
        enough[missing] = said.code
        if said.code:
            # What this right withholds is removed by the lab's own user.
            with lab.access() as access:
                if "kfix-canary" in access.topics():
                    access.delete_topic("kfix-canary")
    assert enough.pop(None) == 0
    # Each of Read, Write and Delete allows to describe, too.
    describing = {right for right in rights if right[0] == "Describe" and right[2] == "kfix-canary"}
    assert {right for right, code in enough.items() if not code} == describing, enough
