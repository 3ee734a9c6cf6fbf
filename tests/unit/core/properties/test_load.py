"""The --command-config file: what Kafka's own tools accept, and each mistake with its place."""

import subprocess
import sys

import pytest

from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.kafka.security import Security
from kfix.core.properties.load import load_client_properties, load_security
from kfix.core.target import make_target
from tests.each import for_each
from tests.unit.core.tls.stores_of import PASSWORD
from tests.waiting import seconds

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="p\\\\"w";'
SCRAM_JAAS = JAAS.replace("plain.Plain", "scram.Scram")


def damaged(label):
    """Returns PEM whose content is no DER."""
    return f"-----BEGIN {label}----- aHVudGVyMg== -----END {label}-----"


def config(tmp_path, text):
    path = tmp_path / "client.properties"
    path.write_text(text)
    return path


def problems(tmp_path, text):
    """Returns [(line, column, text)] of the mistakes."""
    path = config(tmp_path, text)
    with pytest.raises(InvalidFileError) as caught:
        load_security(path)
    found = [each.removeprefix(f"{path}:").split(":", 2) for each in caught.value.problems]
    return [(int(line), int(column), rest.strip()) for line, column, rest in found]


def test_no_file_means_plaintext():
    assert load_security(None) == Security()


def test_kafkas_own_keys_are_read_also_over_several_lines(tmp_path):
    path = config(
        tmp_path,
        "# ours\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism : SCRAM-SHA-512\n"
        f"sasl.jaas.config={SCRAM_JAAS[:60]}\\\n  {SCRAM_JAAS[60:]}\n",
    )
    found = load_security(path)
    assert (found.protocol, found.mechanism) == ("SASL_PLAINTEXT", "SCRAM-SHA-512")
    assert (found.username, found.password) == ("ann", 'p"w')
    assert 'p"w' not in repr(found)


def test_every_mistake_is_reported_at_once_with_its_place(tmp_path):
    found = problems(
        tmp_path, "security.protocol=SASL_SSL\n  sasl.mechanism=NTLM\nssl.truststore.location=/nowhere/t.jks\n"
    )
    assert [(line, column) for line, column, _ in found] == [(3, 1), (2, 3)]


@pytest.mark.parametrize("text", ["security.protocol=TLS\n", "lonely\n"])
def test_a_wrong_file_is_a_usage_error(tmp_path, text):
    with pytest.raises(UsageError, match=r"client\.properties:1:1"):
        load_security(config(tmp_path, text))


TRUST = [("PKCS12", "trust.p12"), ("JKS", "trust.jks"), ("jks", "trust.p12"), ("PEM", "ca.pem")]
OWN = [("PKCS12", "own.p12"), ("JKS", "own.jks"), ("PEM", "own.pem")]


@pytest.mark.parametrize(("kind", "name"), TRUST)
def test_a_trust_store_of_any_type(tmp_path, stores, kind, name):
    folder, *_ = stores
    text = f"security.protocol=SSL\nssl.truststore.location={folder}/{name}\nssl.truststore.type={kind}\n"
    if kind != "PEM":
        text += f"ssl.truststore.password={PASSWORD}\n"
    found = load_security(config(tmp_path, text)).tls
    assert found.ca == (folder / "ca.pem").read_text()
    assert found.check_hostname


@pytest.mark.parametrize(("kind", "name"), OWN)
def test_a_key_store_of_any_type(tmp_path, stores, kind, name):
    folder, _, own = stores
    text = f"security.protocol=SSL\nssl.keystore.location={folder}/{name}\nssl.keystore.type={kind}\n"
    text += f"ssl.key.password={PASSWORD}\n" + ("" if kind == "PEM" else f"ssl.keystore.password={PASSWORD}\n")
    found = load_security(config(tmp_path, text))
    assert found.tls.chain == own.chain_pem
    assert PASSWORD not in repr(found)
    assert "PRIVATE" not in repr(found)


def test_pem_inside_of_the_file_on_one_line_and_on_many(tmp_path, stores):
    folder, _, own = stores
    ca = (folder / "ca.pem").read_text()
    many = "\\n\\\n".join(own.key_pem(PASSWORD).splitlines())
    text = (
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates={ca.replace(chr(10), ' ')}\n"
        f"ssl.keystore.type=PEM\nssl.keystore.certificate.chain={own.chain_pem.replace(chr(10), ' ')}\n"
        f"ssl.keystore.key={many}\nssl.key.password={PASSWORD}\n"
    )
    found = load_security(config(tmp_path, text)).tls
    assert (found.ca, found.chain, found.key_password) == (ca, own.chain_pem, PASSWORD)


def test_the_names_of_librdkafka_are_read_too(tmp_path, stores):
    folder, _, own = stores
    (tmp_path / "chain.pem").write_text(own.chain_pem)
    (tmp_path / "key.pem").write_text(own.key_pem())
    text = (
        f"security.protocol=sasl_ssl\nsasl.mechanisms=PLAIN\nsasl.username=ann\nsasl.password=x\n"
        f"ssl.ca.location={folder}/ca.pem\nssl.certificate.location={tmp_path}/chain.pem\n"
        f"ssl.key.location={tmp_path}/key.pem\n"
    )
    found = load_security(config(tmp_path, text))
    assert (found.protocol, found.username, found.tls.chain) == ("SASL_SSL", "ann", own.chain_pem)


@for_each(
    ("lines", "place", "why"),
    [
        (["ssl.truststore.location={folder}/trust.p12", "ssl.truststore.password=hunter2"], 3, "password is wrong"),
        (["ssl.truststore.location={folder}/trust.p12"], 2, "ssl.truststore.password is missing"),
        (["ssl.keystore.location={folder}/own.pem"], 2, "ssl.key.password is missing"),
        (["ssl.keystore.location={folder}/own.pem", "ssl.key.password=hunter2"], 3, "does not open the private key"),
        (["ssl.keystore.location={folder}/ca.pem"], 2, "it has no private key"),
        (["ssl.keystore.type=BCFKS"], 2, "BCFKS is not supported, use one of JKS, PKCS12, PEM"),
        (["ssl.truststore.certificates=hunter2"], 2, "ssl.truststore.certificates: it is no PEM"),
        (
            [f"ssl.truststore.certificates={damaged('CERTIFICATE')}"],
            2,
            "a trusted certificate is damaged: OpenSSL cannot read it",
        ),
        (
            [f"ssl.keystore.key={damaged('PRIVATE KEY')}", f"ssl.keystore.certificate.chain={damaged('CERTIFICATE')}"],
            3,
            "the certificate of the private key is damaged: OpenSSL cannot read it",
        ),
        (
            ["ssl.certificate.location={folder}/ca.pem", "ssl.key.location={folder}/damaged.pem"],
            2,
            "the private key is damaged: OpenSSL cannot read it",
        ),
        (["ssl.enabled.protocols=TLSv1.2,SSLv3"], 2, "SSLv3 is not supported"),
        (["ssl.cipher.suites=TLS_NO_WITH_SUCH"], 2, "OpenSSL has none of them"),
        (["ssl.endpoint.identification.algorithm=ldaps"], 2, "https or empty"),
        (["ssl.engine.factory.class=com.example.Engine"], 2, "is not supported: it names a class of Java"),
        (["ssl.truststore.lokation=/x"], 2, "unknown key ssl.truststore.lokation, did you mean ssl.truststore.locat"),
    ],
)
def test_what_is_wrong_with_tls_is_one_line_at_its_key_and_no_secret(tmp_path, stores, lines, place, why):
    folder, *_ = stores
    (folder / "damaged.pem").write_text(damaged("PRIVATE KEY"))
    text = "\n".join(["security.protocol=SSL", *lines]).format(folder=folder)
    [(line, column, said)] = problems(tmp_path, text)
    assert (line, column) == (place, 1)
    assert why in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("jaas", "why"),
    [
        ("x.ScramLoginModule required username=a password=hunter2;", "PLAIN needs the PlainLoginModule"),
        ("x.PlainLoginModule required username=a password=hunter2", "the semicolon at the end is missing"),
        ("", "PLAIN needs sasl.jaas.config"),
    ],
)
def test_what_is_wrong_with_a_login_is_one_line_and_no_secret(tmp_path, jaas, why):
    text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n"
    [(line, _, said)] = problems(tmp_path, text)
    assert (line, why in said, "hunter2" in said) == (3, True, False)


def test_a_reference_to_a_provider_that_is_not_defined_is_named_where_it_spoils_a_value(tmp_path):
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=${file:/etc/kfix/jaas:login}\n"
    first, then = problems(tmp_path, text)
    assert first == (3, 1, "sasl.jaas.config: expected a login module and the word required")
    assert then == (
        3,
        1,
        "sasl.jaas.config refers to the config provider 'file', which config.providers does not define",
    )


def test_keys_of_kafkas_clients_that_mean_nothing_here_are_accepted_and_unknown_ones_are_noted(tmp_path):
    text = "bootstrap.servers=b1:9092,b2:9092\nretries=3\nacks=all\nschema.registry.url=http://r\nSECRET=x\n"
    found = load_client_properties(config(tmp_path, text))
    assert found.bootstrap == "b1:9092,b2:9092"
    assert [note.split(": ", 1)[1] for note in found.notes] == [
        "unknown key schema.registry.url; it is not used",
        "unknown key (not shown, it may be a part of a secret); it is not used",
    ]


def test_the_files_bootstrap_servers_stand_in_for_the_option_unless_zookeeper_is_given(tmp_path):
    path = config(tmp_path, "bootstrap.servers=b1:9092,b2:9092\n")
    assert make_target(None, None, path).bootstrap_text == "b1:9092,b2:9092"
    assert make_target("c:1", None, path).bootstrap_text == "c:1"
    assert make_target(None, "zk:2181", path).bootstrap == ()
    with pytest.raises(UsageError, match=r"bootstrap\.servers: 'b1' is not HOST:PORT"):
        make_target(None, None, config(tmp_path, "bootstrap.servers=b1\n"))


def test_without_tls_nothing_of_it_is_imported(tmp_path):
    path = config(tmp_path, f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={JAAS}\n")
    code = (
        "import sys; from pathlib import Path; from kfix.core.target import make_target\n"
        f"make_target('h:1', None, Path({str(path)!r}))\n"
        "print(sorted(set(sys.modules) & {'ssl', 'cryptography', 'kfix.core.tls.stores', 'urllib.request'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=seconds(60))
    assert done.stdout.strip() == "[]"
