"""Secured clusters as they are deployed: client properties as Kafka's tools take them, and what each mistake says.

`make test-security` runs every line of Kafka with every security and mechanism; otherwise each is on one line.
"""

import itertools
import json
import os
import re
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest

from kfix.lab import Lab, LabSpec
from kfix.lab.definition.recipes import recipe_of
from kfix.lab.definition.state import folder_of
from kfix.lab.security.certificates import CertificateAuthority, pem
from kfix.lab.security.files import HOSTS, authority_of
from kfix.lab.security.oidc import read_settings, signed_token, write_settings
from tests.cluster.conftest import lab_of_its_own, only_on
from tests.cluster.remedy import Operator
from tests.cluster.securing import changed, holders, inline, of_its_listener, of_its_node, one_line, secrets_of
from tests.cluster.watched import LONG, inbox, metrics, posting_to, watching

LINES = (("2.7.1", "zk"), ("3.9.2", "zk"), ("3.9.2", "kraft"), ("4.3.1", "kraft"))
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
WAYS = (("tls", None), ("mtls", None), *itertools.product(("sasl_plaintext", "sasl_ssl"), MECHANISMS))
#: Each way on one line of Kafka; `make test-security` has each on every line.
CORE = tuple((LINES[number % len(LINES)], way) for number, way in enumerate(WAYS))
LABS = tuple(itertools.product(LINES, WAYS)) if os.environ.get("KFIX_TEST_SECURITY") == "all" else CORE


def called(each):
    (version, mode), (security, mechanism) = each
    return "-".join(filter(None, (version, mode, security, mechanism)))


def start(given):
    (version, mode), (security, mechanism) = given
    return Lab.up(LabSpec(name="secured", kafka=version, mode=mode, ids=(7,), security=security, mechanism=mechanism))


own, lab = lab_of_its_own(start, params=LABS, ids=called)
TLS = only_on(lambda each: each[1][0] != "sasl_plaintext")
MTLS = only_on(lambda each: each[1][0] == "mtls")
OAUTH = only_on(lambda each: each[1][1] == "OAUTHBEARER")
#: With an identity provider, whose tokens the brokers validate.
OIDC = only_on(lambda each: each[1][1] == "OAUTHBEARER" and recipe_of(each[0][0]).validates_tokens)


def test_every_form_of_client_properties_reads_everything_without_another_option(lab, kfix, tmp_path):
    assert len(lab.client_files) == (3 if lab.state.spec.has_tls else 1)
    for file in lab.client_files:
        said = kfix.run("diagnose", "--json", "--command-config", file)
        assert (said.code, said.json["could_not_read"], said.json["findings"]) == (0, [], []), file
    saved = tmp_path / "snapshot.json"
    kept = kfix.run("snapshot", "save", saved, "--command-config", lab.client_files[0])
    assert kept.code == 0, kept.err
    assert holders(tmp_path, secrets_of(lab)) == []


@TLS
def test_inline_pem_with_its_secrets_in_another_file_reads_everything(lab, kfix, tmp_path):
    """`${file:...}` by `config.providers`: no secret and no path of a store is in the client properties."""
    file, secrets = inline(lab, tmp_path)
    assert not any(secret in file.read_text() for secret in secrets_of(lab))
    said = kfix.run("diagnose", "--json", "--command-config", file)
    assert (said.code, said.json["could_not_read"], said.json["findings"]) == (0, [], []), said.out + said.err
    (tmp_path / "secrets").unlink()
    missing = kfix.run("diagnose", "--command-config", file)
    assert missing.code == (2 if secrets else 0), missing.out + missing.err
    assert not any(secret in said.out + missing.out + missing.err for secret in secrets_of(lab))


def test_a_canary_connects_with_the_same_client_properties(lab, kfix):
    for file in lab.client_files:
        said = kfix.run("canary", "--create-topic", "--command-config", file, "--json")
        assert [each["failures"] for each in said.json["leaders"]] == [0], said.out
        assert all(secret not in said.out + said.err for secret in secrets_of(lab))


def test_a_plan_is_carried_out_over_the_secured_listener_and_no_secret_is_left(lab, tmp_path):
    ann = Operator(lab, tmp_path, "ann")
    ann.where = ("--command-config", lab.client_files[0])
    with lab.access() as access:
        access.write_config("brokers", "7", {"leader.replication.throttled.rate": "1000"})
    planned = ann.plan("sweep-throttles")
    assert planned.plan["cluster"]["security"]["protocol"] == lab.state.spec.listener
    said = ann.apply(planned)
    assert all(secret not in said.out + said.err for secret in secrets_of(lab))
    bundled = ann.run("bundle", "--output-file", tmp_path / "b.tar.gz", *map(str, ann.where))
    assert bundled.code == 0, bundled.err
    with tarfile.open(tmp_path / "b.tar.gz") as file:
        file.extractall(tmp_path / "bundle", filter="data")
    assert list((tmp_path / "bundle/kfix-bundle/runs").glob("*/journal.ndjson"))
    assert holders(tmp_path, secrets_of(lab)) == []
    words = [(entry / "cmdline").read_bytes() for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    assert not [line for line in words for secret in secrets_of(lab) if secret.encode() in line]


@TLS
def test_a_watch_over_tls_names_an_incident_notifies_of_it_once_and_ends_when_it_is_over(lab, kfix, tmp_path):
    file = lab.client_files[0]
    with lab.access() as access, inbox() as (url, notices):
        options = ("--every", "1", "--exporter", ":0", "--notify", posting_to(tmp_path, url), "--timeout", "5")
        with watching(kfix, tmp_path, *options, properties=file) as watch:
            at = watch.says(": healthy")
            # Left-over throttles are a fault on every line; leaders of newer ones cap min.insync.replicas.
            access.create_topic("held", [[7]], {"leader.replication.throttled.replicas": "*"})
            access.write_config("brokers", "7", {"leader.replication.throttled.rate": "1000000"})
            at = watch.says("new warning KFX503", after=at)
            (second := tmp_path / "second").mkdir()
            with watching(kfix, second, "--every", "1", "--until", "healthy", properties=file) as waiting:
                waiting.says("new warning KFX503")
                access.write_config("topics", "held", {})
                access.write_config("brokers", "7", {})
                assert waiting.process.wait(LONG) == 0
                assert waiting.text.rstrip().endswith(": healthy")
            at = watch.says("fixed KFX503", after=at)
            watch.says(": healthy", after=at)
            asked = metrics(watch)
            assert watch.ends() == 0
        access.delete_topic("held")
    assert [(n["kind"], n["code"]) for n in notices] == [("new", "KFX503"), ("fixed", "KFX503")]
    assert asked["kfix_watch_failed_snapshots_total"] == 0
    # A connection and its handshake are made anew by each snapshot, and by no more than its sources need.
    assert 1 <= asked["kfix_watch_connections_total"] / asked["kfix_watch_snapshots_total"] <= 6
    assert not any(secret in watch.text + json.dumps(notices) for secret in secrets_of(lab))


def test_a_client_without_the_properties_is_shown_what_the_port_requires(lab, kfix):
    said = kfix.run("diagnose", "--bootstrap-server", lab.sasl_bootstrap_servers)
    expected = "requires TLS" if lab.state.spec.has_tls else "requires SASL"
    assert (said.code, expected in one_line(said)) == (22, True), said.err


def test_a_wrong_password_is_one_line_without_it(lab, kfix, tmp_path):
    spec, right = lab.state.spec, Path(lab.client_files[0]).read_text()
    if spec.sasl is None or spec.sasl[1] not in right:
        return  # a client without a password
    file = tmp_path / "wrong.properties"
    file.write_text(right.replace(lab.state.spec.sasl[1], "wr0ng"))
    said = kfix.run("diagnose", "--command-config", file)
    with_token = "refused client 'kfix': HTTP 401 invalid_client"
    expected = with_token if spec.mechanism_used == "OAUTHBEARER" else "authentication refused for user 'kfix'"
    assert (said.code, expected in one_line(said)) == (22, True), said.err
    assert "wr0ng" not in said.err


@pytest.mark.parametrize("claims", [{"exp": 1}, {"aud": "other"}, {"iss": "http://other"}], ids=str)
@OIDC
def test_a_token_that_the_broker_refuses_is_one_line_without_it(lab, kfix, tmp_path, claims):
    token = signed_token(read_settings(folder_of(lab.state) / "oidc.json"), "kfix", **claims)
    (tmp_path / "token").write_text(token)
    file = changed(lab, tmp_path, sasl__oauthbearer__token__endpoint__url=f"file://{tmp_path}/token")
    said = kfix.run("diagnose", "--command-config", file)
    assert (said.code, "the broker refused the token (invalid_token)" in one_line(said)) == (22, True), said.err
    assert token not in said.err


@OIDC
def test_a_token_that_another_key_signed_is_refused_in_one_line_without_it(lab, kfix, tmp_path):
    settings = read_settings(folder_of(lab.state) / "oidc.json")
    write_settings(tmp_path / "other.json", settings.port, {})
    foreign = read_settings(tmp_path / "other.json")
    assert (foreign.issuer, foreign.key != settings.key) == (settings.issuer, True)
    for key, code in ((foreign, 22), (settings, 0)):
        token = signed_token(key, "kfix")
        (tmp_path / "token").write_text(token)
        file = changed(lab, tmp_path, sasl__oauthbearer__token__endpoint__url=f"file://{tmp_path}/token")
        said = kfix.run("diagnose", "--command-config", file)
        assert said.code == code, said.err
        assert ("the broker refused the token (invalid_token)" in said.err) is (code == 22), said.err
        assert token not in said.out + said.err


@OAUTH
def test_a_token_of_aws_reaches_the_broker_which_is_not_of_aws(lab, kfix, tmp_path, monkeypatch):
    for name, value in (
        ("ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("SECRET_ACCESS_KEY", "hunter2-aws"),
        ("REGION", "eu-west-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    file = changed(
        lab,
        tmp_path,
        sasl__mechanism="AWS_MSK_IAM",
        sasl__jaas__config="software.amazon.msk.auth.iam.IAMLoginModule required;",
        sasl__login__callback__handler__class=None,
        sasl__oauthbearer__token__endpoint__url=None,
        sasl__client__callback__handler__class="software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    )
    said = kfix.run("diagnose", "--command-config", file)
    assert (said.code, "the broker refused the token (invalid_token)" in one_line(said)) == (22, True), said.err
    assert "hunter2" not in said.err


@TLS
def test_tls_at_a_port_without_it_is_one_line(lab, kfix):
    where = ("--bootstrap-server", lab.bootstrap_servers, "--command-config", lab.client_files[0])
    said = kfix.run("diagnose", *where)
    assert (said.code, "does not use TLS at this port" in one_line(said)) == (22, True), said.err


@TLS
def test_an_unknown_authority_is_named(lab, kfix, tmp_path):
    (tmp_path / "other.pem").write_text(pem(CertificateAuthority.new("other").certificate))
    file = changed(
        lab,
        tmp_path,
        ssl__truststore__location=tmp_path / "other.pem",
        ssl__truststore__type="PEM",
        ssl__truststore__password=None,
    )
    said = kfix.run("diagnose", "--command-config", file)
    assert (said.code, "the CA of the server's certificate is unknown" in one_line(said)) == (22, True), said.err


@TLS
def test_a_name_that_the_certificate_does_not_have_is_named(lab, kfix):
    port = lab.sasl_bootstrap_servers.rpartition(":")[2]
    where = ("--bootstrap-server", f"localhost:{port}", "--command-config", lab.client_files[0])
    said = kfix.run("diagnose", *where)
    assert (said.code, "is for another host than localhost" in one_line(said)) == (22, True), said.err


@TLS
def test_without_the_check_of_the_name_another_one_will_do(lab, kfix, tmp_path):
    port = lab.sasl_bootstrap_servers.rpartition(":")[2]
    file = changed(lab, tmp_path, ssl__endpoint__identification__algorithm="")
    said = kfix.run("diagnose", "--bootstrap-server", f"localhost:{port}", "--command-config", file)
    assert said.code == 0, said.err


@MTLS
def test_a_missing_a_foreign_and_an_expired_client_certificate_are_named(lab, kfix, tmp_path):
    none = {"location": None, "type": None, "password": None}
    file = changed(lab, tmp_path, ssl__key__password=None, **{f"ssl__keystore__{k}": v for k, v in none.items()})
    said = kfix.run("diagnose", "--command-config", file)
    asked = re.search("(requires|may require) a client certificate", one_line(said))  # Java with TLS 1.3
    assert (said.code, asked is not None) == (22, True), said.err
    foreign = CertificateAuthority.new("other").issue("kfix")
    (tmp_path / "foreign.p12").write_bytes(foreign.key_store(lab.state.secret))
    file = changed(lab, tmp_path, ssl__keystore__location=tmp_path / "foreign.p12")
    said = kfix.run("diagnose", "--command-config", file)
    assert (said.code, "client" in one_line(said), "ssl.keystore.*" in one_line(said)) == (22, True, True)
    expired = authority_of(lab.state).issue("kfix", valid=timedelta(-1))
    (tmp_path / "expired.p12").write_bytes(expired.key_store(lab.state.secret))
    file = changed(lab, tmp_path, ssl__keystore__location=tmp_path / "expired.p12")
    said = kfix.run("diagnose", "--command-config", file)
    why = "the client certificate of ssl.keystore.* has expired (CN=kfix, on "
    assert (said.code, why in one_line(said)) == (22, True), said.err


@TLS
def test_an_expired_authority_is_named(lab, kfix, tmp_path):
    # The same key, in a certificate that has ended: what a site has after ten years.
    ended = CertificateAuthority.new("kfix lab secured", authority_of(lab.state).key, timedelta(-1))
    (tmp_path / "ended.pem").write_text(pem(ended.certificate))
    file = changed(
        lab,
        tmp_path,
        ssl__truststore__location=tmp_path / "ended.pem",
        ssl__truststore__type="PEM",
        ssl__truststore__password=None,
    )
    said = kfix.run("diagnose", "--command-config", file)
    assert (said.code, "a CA in ssl.truststore.* has expired (CN=kfix lab" in one_line(said)) == (22, True), said.err


@TLS
def test_an_expired_certificate_of_a_broker_is_named(lab, kfix, tmp_path):
    def ask(kfix):
        return kfix.run("diagnose", "--command-config", lab.client_files[0])

    expired = authority_of(lab.state).issue("node", HOSTS, timedelta(-1)).key_store(lab.state.secret)
    with (of_its_listener if lab.state.spec.recipe.mode == "kraft" else of_its_node)(lab, tmp_path, expired):
        said = kfix.until(lambda said: said.code == 22, "the broker has the expired certificate", within=20, ask=ask)
        assert "the server's certificate has expired" in one_line(said), said.err
    kfix.until(lambda said: said.code == 0, "it is renewed", within=20, ask=ask)


def test_the_files_of_a_secured_lab_are_for_its_user_alone(lab):
    files = list(folder_of(lab.state).iterdir())
    assert {file.stat().st_mode & 0o077 for file in files} == {0}
    assert holders(lab.store.dir / "logs", secrets_of(lab)) == []
