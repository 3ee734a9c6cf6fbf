"""GSSAPI against real brokers and a real KDC: let in by keytab and by ticket cache, and one line for each failure."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from kfix.lab import Lab, LabSpec
from kfix.lab.definition.realm import krb5_conf
from kfix.lab.definition.state import folder_of
from kfix.lab.nodes.logins import ROLE, add_principal, administer, start_kdc, variables
from kfix.lab.process import processes
from tests.cluster.conftest import own_lab
from tests.cluster.remedy import Operator
from tests.cluster.securing import one_line
from tests.waiting import seconds

LINES = {"2.7.1": "sasl_plaintext", "4.3.1": "sasl_ssl"}
HERE = Path(__file__).parent
#: What only the ticket and the KDC decide is tried beside one of the lines: no broker takes part.
ONCE = pytest.mark.parametrize("own", ["2.7.1"], indirect=True)


@pytest.fixture(scope="module", params=LINES)
def own(request, tmp_path_factory):
    def start():
        spec = LabSpec(
            name="kerberos", kafka=request.param, ids=(7,), security=LINES[request.param], mechanism="GSSAPI", acls=True
        )
        return Lab.up(spec)

    with own_lab(tmp_path_factory, start) as own:
        yield own
        state = own.lab.state
        assert [each.pid for each in processes.find_tagged(state.id) if each.pid == state.record(ROLE, 1).pid]
        own.down()
        assert not folder_of(state).exists()
        assert processes.find_tagged(state.id) == []


@pytest.fixture
def lab(own, request):
    return own.of(request)


def properties(lab, tmp_path, *changes, login=None, krb5=None):
    """The client properties with other texts, with another login module, or with another krb5.conf."""
    text = Path(lab.client_files[0]).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    other = {"sasl.jaas.config": login and f"com.sun.security.auth.module.Krb5LoginModule required {login};"}
    other["java.security.krb5.conf"] = krb5
    lines = text.splitlines()
    for key, value in other.items():
        if value is not None:
            lines = [line for line in lines if not line.startswith(key)] + [f"{key}={value}"]
    file = tmp_path / "client.properties"
    file.write_text("\n".join(lines) + "\n")
    return file


def in_cache(lab, tmp_path, **more):
    return properties(lab, tmp_path, login=f'useTicketCache=true ticketCache="{tmp_path}/cache"', **more)


def kinit(lab, tmp_path, *options):
    keytab = folder_of(lab.state) / "client.keytab"
    command = ["kinit", "-k", "-t", keytab, "-c", tmp_path / "cache", *options, "kfix"]
    subprocess.run([*map(str, command)], check=True, env={**os.environ, **variables(lab.state)}, timeout=seconds(30))


def refused(kfix, file, why):
    """Asserts one line, and that nothing is called healthy."""
    said = kfix.run("diagnose", "--command-config", file)
    assert (said.code, why in one_line(said)) == (22, True), said.err
    return said


def test_a_keytab_reads_everything(lab, kfix, tmp_path):
    said = kfix.run("diagnose", "--json", "--command-config", lab.client_files[0])
    assert (said.code, said.json["could_not_read"], said.json["findings"]) == (0, [], [])
    assert lab.state.spec.principal == "User:kfix"
    files = [file for file in folder_of(lab.state).rglob("*") if file.suffix != ".pid"]
    assert {file.stat().st_mode & 0o077 for file in files} == {0}


def test_a_ticket_in_the_users_cache_reads_everything_and_stays_as_it_is(lab, kfix, tmp_path, monkeypatch):
    kinit(lab, tmp_path)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/cache")
    monkeypatch.setenv("KRB5_CONFIG", str(krb5_conf(lab.state)))
    file = properties(lab, tmp_path, login="useTicketCache=true")
    lines = [line for line in file.read_text().splitlines() if "krb5.conf" not in line]
    file.write_text("\n".join(lines) + "\n")
    assert kfix.run("diagnose", "--command-config", file).code == 0
    both = f'useTicketCache=true useKeyTab=true keyTab="{folder_of(lab.state)}/client.keytab" principal="kfix@KFIX.LAB"'
    (tmp_path / "cache").unlink()
    assert kfix.run("diagnose", "--command-config", properties(lab, tmp_path, login=both)).code == 0
    assert not (tmp_path / "cache").exists()


def test_a_login_is_read_from_the_jaas_file_of_kafkas_tools(lab, kfix, tmp_path):
    module = next(
        line.partition("=")[2]
        for line in Path(lab.client_files[0]).read_text().splitlines()
        if line.startswith("sasl.jaas.config")
    )
    (tmp_path / "jaas.conf").write_text(f"KafkaClient {{\n  {module}\n}};\n")
    file = properties(lab, tmp_path)
    lines = [line for line in file.read_text().splitlines() if not line.startswith("sasl.jaas.config")]
    file.write_text("\n".join([*lines, f"java.security.auth.login.config={tmp_path}/jaas.conf"]) + "\n")
    assert kfix.run("diagnose", "--command-config", file).code == 0


def test_a_missing_right_is_named_with_the_short_name_of_the_ticket(lab, kfix, tmp_path):
    if not (folder_of(lab.state) / "ann.keytab").exists():
        add_principal(lab.state, "ann@KFIX.LAB", "ann")
    keytab = folder_of(lab.state) / "ann.keytab"
    file = properties(lab, tmp_path, ("client.keytab", "ann.keytab"), ("kfix@KFIX.LAB", "ann@KFIX.LAB"))
    said = kfix.run("diagnose", "--json", "--command-config", file)
    assert said.code == 22
    assert any("--allow-principal 'User:ann'" in text for text in said.json["could_not_read"])
    command = ["kinit", "-k", "-t", str(keytab), "-c", str(tmp_path / "cache"), "ann"]
    subprocess.run(command, check=True, env={**os.environ, **variables(lab.state)}, timeout=seconds(30))
    said = kfix.run("diagnose", "--json", "--command-config", in_cache(lab, tmp_path))
    assert any("--allow-principal 'User:ann'" in text for text in said.json["could_not_read"])


def test_a_plan_is_carried_out_with_a_ticket(lab, tmp_path):
    if lab.state.spec.recipe.mode == "kraft":
        return
    from kfix.lab.clients.rights import grant
    from kfix.lab.definition.protocols import CLUSTER, Right

    ann = Operator(lab, tmp_path, "ann")
    ann.where = ("--command-config", lab.client_files[0])
    with lab.access() as access:
        grant(access.admin(), lab.state.spec.principal, [Right("ALTER_CONFIGS", "CLUSTER", CLUSTER)])
        access.write_config("brokers", "7", {"leader.replication.throttled.rate": "1000"})
    planned = ann.plan("sweep-throttles")
    assert planned.plan["cluster"]["security"] == {
        "protocol": lab.state.spec.listener,
        "mechanism": "GSSAPI",
        "user": "kfix",
    }
    ann.apply(planned, level="plan")


@ONCE
def test_without_a_ticket_or_with_an_expired_one_kinit_is_advised(lab, kfix, tmp_path):
    refused(kfix, in_cache(lab, tmp_path), f"there is no Kerberos ticket in {tmp_path}/cache: kinit")
    kinit(lab, tmp_path, "-l", "1s")
    time.sleep(2)
    refused(kfix, in_cache(lab, tmp_path), "the Kerberos ticket has expired: kinit")
    login = f'useTicketCache=true ticketCache="{tmp_path}/cache" principal="ann@KFIX.LAB"'
    refused(kfix, properties(lab, tmp_path, login=login), "is not of ann@KFIX.LAB: kinit ann@KFIX.LAB")


@ONCE
def test_a_keytab_that_is_not_there_or_not_the_principals_is_named(lab, kfix, tmp_path):
    where = folder_of(lab.state)
    refused(kfix, properties(lab, tmp_path, ("client.keytab", "none.keytab")), "none.keytab cannot be read: no such")
    refused(kfix, properties(lab, tmp_path, ("kfix@", "nobody@")), f"{where}/client.keytab has no key of nobody@KFIX")
    # The KDC has a newer key than the keytab.
    if not (where / "bob.keytab").exists():
        add_principal(lab.state, "bob@KFIX.LAB", "bob")
    bob = properties(lab, tmp_path, ("client.keytab", "bob.keytab"), ("kfix@", "bob@"))
    administer(lab.state, "cpw -randkey bob")
    refused(kfix, bob, "bob.keytab is not that of bob@KFIX.LAB: export the keytab again")
    administer(lab.state, "modprinc -allow_tix bob")
    refused(kfix, bob, "the principal bob@KFIX.LAB is locked")
    administer(lab.state, "delprinc -force bob")
    (where / "bob.keytab").rename(where / "gone.keytab")
    gone = properties(lab, tmp_path, ("client.keytab", "gone.keytab"), ("kfix@", "bob@"))
    refused(kfix, gone, "the KDC does not know the principal bob@KFIX.LAB")


def test_a_service_that_the_kdc_does_not_know_is_named(lab, kfix, tmp_path):
    file = properties(lab, tmp_path, ("service.name=kafka", "service.name=other"))
    refused(kfix, file, "the KDC does not know the service other/127.0.0.1: check sasl.kerberos.service.name")
    if not lab.state.spec.has_tls:
        file = properties(lab, tmp_path, ("bootstrap.servers=127.0.0.1", "bootstrap.servers=localhost"))
        refused(kfix, file, "the KDC does not know the service kafka/localhost")


def test_a_broker_with_an_old_key_refuses_and_its_keytab_is_named(lab, kfix):
    administer(lab.state, "cpw -randkey kafka/127.0.0.1")
    try:
        why = "the key in the broker's keytab may not be that of the KDC, or the clocks differ"
        refused(kfix, lab.client_files[0], why)
    finally:
        administer(lab.state, f"ktadd -k {folder_of(lab.state)}/node.keytab kafka/127.0.0.1")
    assert kfix.run("diagnose", "--command-config", lab.client_files[0]).code == 0


@ONCE
def test_a_realm_without_a_kdc_and_a_kdc_that_is_dead_or_frozen_are_named(lab, kfix, tmp_path):
    other = tmp_path / "krb5.conf"
    other.write_text(krb5_conf(lab.state).read_text().replace("KFIX.LAB = {", "OTHER.LAB = {"))
    refused(kfix, properties(lab, tmp_path, krb5=other), "krb5.conf names no KDC of the realm")
    state = lab.state
    lab.nodes.stop(state, 1, ROLE)
    refused(kfix, lab.client_files[0], "no KDC of the realm answered in time")
    lab.nodes.kill(state, [1], ROLE)
    try:
        refused(kfix, lab.client_files[0], "no KDC of the realm answers")
    finally:
        start_kdc(lab.nodes, state)
    assert kfix.run("diagnose", "--command-config", lab.client_files[0]).code == 0


@ONCE
@pytest.mark.parametrize("offset", [900, -900])
def test_a_clock_that_is_off_is_named(lab, kfix, tmp_path, monkeypatch, offset):
    kinit(lab, tmp_path)
    shim = tmp_path / "skewed.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, HERE / "skewed.c"], check=True, timeout=seconds(60))
    exact = tmp_path / "krb5.conf"
    exact.write_text(krb5_conf(lab.state).read_text().replace("rdns", "kdc_timesync = 0\n rdns"))
    monkeypatch.setenv("KFIX_TEST_CLOCK", str(offset))
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    refused(kfix, in_cache(lab, tmp_path), "are more than 5 minutes apart: synchronize them (NTP)")
    # Where krb5.conf forbids to go by the KDC's clock, a keytab does not help.
    refused(kfix, properties(lab, tmp_path, krb5=exact), "are more than 5 minutes apart: synchronize them (NTP)")


def test_no_file_of_kfix_has_a_key_and_no_process_the_password_of_the_kdc(lab, kfix, tmp_path):
    key = (folder_of(lab.state) / "client.keytab").read_bytes()[-32:]
    saved = tmp_path / "snapshot.json"
    assert kfix.run("snapshot", "save", saved, "--command-config", lab.client_files[0]).code == 0
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert kept
    assert not [file for file in kept if key in file.read_bytes() or b"keytab" in file.read_bytes()]
    command = Path(f"/proc/{lab.state.record(ROLE, 1).pid}/cmdline").read_bytes()
    assert (b"krb5kdc" in command, lab.state.secret.encode() in command) == (True, False)
