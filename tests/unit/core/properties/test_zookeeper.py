"""The zookeeper.* keys of the --command-config file: what Kafka's brokers accept, and each mistake with its place."""

import subprocess
import sys

import pytest

from kfix.core.errors import InvalidFileError
from kfix.core.properties.load import load_client_properties
from kfix.core.target import make_target
from kfix.core.tls.settings import ENABLED
from kfix.core.zookeeper.access import ZooKeeperAccess
from tests.each import for_each
from tests.unit.core.tls.stores_of import PASSWORD

ON = "zookeeper.ssl.client.enable=true\nzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\n"


def config(tmp_path, text):
    path = tmp_path / "client.properties"
    path.write_text(text)
    return path


def access_of(tmp_path, text):
    return load_client_properties(config(tmp_path, text)).access


def problem(tmp_path, text):
    path = config(tmp_path, text)
    with pytest.raises(InvalidFileError) as caught:
        load_client_properties(path)
    [found] = caught.value.problems
    assert PASSWORD not in found
    return found.removeprefix(f"{path}:")


def test_without_a_key_zookeeper_is_read_in_plain_text_and_nothing_more_is_imported(tmp_path):
    assert access_of(tmp_path, "zookeeper.connect=zk:2181\nzookeeper.set.acl=true\n") == ZooKeeperAccess()
    code = (
        "import sys; from pathlib import Path; from kfix.core.properties.load import load_client_properties;"
        f"load_client_properties(Path({str(tmp_path / 'client.properties')!r}));"
        "print([name for name in ('ssl', 'cryptography', 'puresasl', 'kazoo') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_stores_of_zookeeper_are_not_those_of_the_brokers(tmp_path, stores):
    folder, *_ = stores
    lines = f"zookeeper.ssl.keystore.location={folder}/own.p12\nzookeeper.ssl.keystore.password={PASSWORD}\n"
    lines += f"zookeeper.ssl.truststore.location={folder}/trust.p12\nzookeeper.ssl.truststore.password={PASSWORD}\n"
    target = make_target("b:9092", "zk:2182/kafka", config(tmp_path, ON + lines))
    tls = target.zookeeper.access.tls
    assert (bool(tls.ca), bool(tls.chain), tls.check_hostname, tls.versions) == (True, True, True, ENABLED)
    assert target.zookeeper.access == target.zookeeper_access
    assert target.security.tls.ca == ""
    assert str(target.zookeeper) == "zk:2182/kafka"
    assert PASSWORD not in repr(target)
    assert "PRIVATE KEY" not in repr(target)


def test_the_protocol_alone_is_the_one_that_is_enabled(tmp_path):
    tls = access_of(tmp_path, f"{ON}zookeeper.ssl.protocol=TLSv1.3\n").tls
    assert tls.versions == ("TLSv1.3",)
    both = "zookeeper.ssl.protocol=TLSv1.3\nzookeeper.ssl.enabled.protocols=TLSv1.2,TLSv1.3\n"
    assert access_of(tmp_path, ON + both).tls.versions == ENABLED


def test_the_name_in_the_certificate_may_be_left_unchecked(tmp_path):
    line = "zookeeper.ssl.endpoint.identification.algorithm=\n"
    assert not access_of(tmp_path, ON + line).tls.check_hostname


@for_each(
    ("lines", "place", "why"),
    [
        ("zookeeper.ssl.client.enable=yes", "1:1", "zookeeper.ssl.client.enable is true or false, not 'yes'"),
        ("zookeeper.ssl.truststore.location=/t.jks", "1:1", "without zookeeper.ssl.client.enable=true"),
        (f"{ON}zookeeper.ssl.truststore.location=/no/ssl.d/t.jks", "3:1", "/no/ssl.d/t.jks does not exist"),
        (f"{ON}zookeeper.ssl.truststore.type=BCFKS", "3:1", "zookeeper.ssl.truststore.type BCFKS is not supported"),
        (
            f"{ON}zookeeper.ssl.enabled.protocols=SSLv3",
            "3:1",
            "zookeeper.ssl.enabled.protocols: SSLv3 is not supported",
        ),
        (f"{ON}zookeeper.ssl.cipher.suites=NONE", "3:1", "zookeeper.ssl.cipher.suites: OpenSSL has none of them"),
        (f"{ON}zookeeper.ssl.crl.enable=true", "3:1", "kfix does not check the revocation of certificates"),
        (f"{ON}zookeeper.ssl.truststore.locaton=/t", "3:1", "did you mean zookeeper.ssl.truststore.location?"),
        (
            "zookeeper.ssl.client.enable=true\nzookeeper.clientCnxnSocket=a.B",
            "2:1",
            "needs zookeeper.clientCnxnSocket=",
        ),
    ],
)
def test_what_is_wrong_is_one_line_at_its_key(tmp_path, lines, place, why):
    found = problem(tmp_path, lines + "\n")
    assert (found.startswith(f"{place}:"), why in found) == (True, True), found


def test_a_wrong_password_of_a_store_names_the_key_of_zookeeper(tmp_path, stores):
    folder, *_ = stores
    lines = f"zookeeper.ssl.keystore.location={folder}/own.p12\n"
    assert "(zookeeper.ssl.keystore.password is missing)" in problem(tmp_path, ON + lines)


def test_a_revocation_check_that_is_off_is_accepted(tmp_path):
    assert access_of(tmp_path, f"{ON}zookeeper.ssl.ocsp.enable=false\n").tls is not None


LOGIN = 'org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="s3cret}";'


def test_a_login_is_read_from_the_file_itself(tmp_path):
    found = access_of(tmp_path, f"zookeeper.sasl.jaas.config={LOGIN}\nzookeeper.auth.digest=ann:a:b\n")
    assert (found.sasl, found.digest, found.tls) == (("kafka", "s3cret}"), "ann:a:b", None)
    assert "s3cret" not in repr(found)
    assert "a:b" not in repr(found)


def test_a_login_may_come_from_a_provider(tmp_path, monkeypatch):
    monkeypatch.setenv("ZK_LOGIN", "ann:s3cret")
    lines = "config.providers=env\nzookeeper.auth.digest=${env:ZK_LOGIN}\n"
    lines += "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    assert access_of(tmp_path, lines).digest == "ann:s3cret"


@pytest.mark.parametrize("name", ["Client", "Kafka"])
def test_a_login_is_read_from_the_section_of_a_jaas_file(tmp_path, name):
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(
        f"// }} a comment\nMyClient {{ other.Module required; }};\n/* Client {{ */ {name} {{\n  {LOGIN}\n}};\n"
    )
    lines = f"java.security.auth.login.config={jaas}\nzookeeper.sasl.clientconfig={name}\n"
    assert access_of(tmp_path, lines).sasl == ("kafka", "s3cret}")


@for_each(
    ("lines", "why"),
    [
        ("zookeeper.auth.digest=s3cret", "zookeeper.auth.digest is not USER:PASSWORD"),
        ("zookeeper.auth.digest=:s3cret", "zookeeper.auth.digest is not USER:PASSWORD"),
        (f"zookeeper.sasl.jaas.config={LOGIN[:-1]}", "the semicolon at the end is missing"),
        ("zookeeper.sasl.jaas.config=com.sun.Krb5LoginModule required;", "Kerberos is not supported"),
        ("zookeeper.sasl.jaas.config=a.DigestLoginModule required username=x;", "needs username and password"),
        ("java.security.auth.login.config=/no/such", "/no/such: cannot be read"),
        ("java.security.auth.login.config=/dev/null", "/dev/null"),
        ("zookeeper.sasl.mechanism=X", "unknown key zookeeper.sasl.mechanism"),
    ],
)
def test_what_is_wrong_with_a_login_at_zookeeper_is_one_line_and_no_secret(tmp_path, lines, why):
    found = problem(tmp_path, lines + "\n")
    assert (found.startswith("1:1:"), why in found, "s3cret" in found) == (True, True, False), found


def test_a_jaas_file_without_the_section_is_named(tmp_path):
    jaas = tmp_path / "jaas.conf"
    jaas.write_text("Server { a.B required; };\n")
    assert "has no section Client" in problem(tmp_path, f"java.security.auth.login.config={jaas}\n")


def test_without_its_library_sasl_shows_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("kfix.core.properties.zookeeper.has_sasl", lambda: False)
    assert "pip install 'kafka-kfix[zookeeper-sasl]'" in problem(tmp_path, f"zookeeper.sasl.jaas.config={LOGIN}\n")
