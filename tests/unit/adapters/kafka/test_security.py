"""The --command-config file, and SCRAM against the exchange printed in RFC 7677."""

import pytest

from kfix.adapters.kafka import sasl
from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.requests import SASL_HANDSHAKE
from kfix.adapters.kafka.security import Security, load_security
from kfix.errors import InvalidFileError, UsageError

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="p\\"w";'


def config(tmp_path, text):
    path = tmp_path / "client.properties"
    path.write_text(text)
    return path


def test_no_file_means_plaintext():
    assert load_security(None) == Security()


def test_kafkas_own_keys_are_read_also_over_several_lines(tmp_path):
    path = config(
        tmp_path,
        "# ours\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism : SCRAM-SHA-512\n"
        f"sasl.jaas.config={JAAS[:60]}\\\n  {JAAS[60:]}\n",
    )
    found = load_security(path)
    assert (found.protocol, found.mechanism, found.username, found.password) == (
        "SASL_PLAINTEXT",
        "SCRAM-SHA-512",
        "ann",
        'p"w',
    )
    assert 'p"w' not in repr(found)


def test_every_mistake_is_reported_at_once_with_its_line(tmp_path):
    path = config(
        tmp_path, "security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\nssl.truststore.location=/nowhere/t.jks\n"
    )
    with pytest.raises(InvalidFileError) as caught:
        load_security(path)
    assert [p.split(":")[1] for p in caught.value.problems] == ["2", "1", "3"]


@pytest.mark.parametrize("text", ["security.protocol=TLS\n", "lonely\n"])
def test_a_wrong_file_is_a_usage_error(tmp_path, text):
    with pytest.raises(UsageError, match=r"client\.properties:1:1"):
        load_security(config(tmp_path, text))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        load_security(tmp_path / "none")


class Server:
    """The server's half of RFC 7677, 3: user `user`, password `pencil`."""

    def __init__(self, last="v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="):
        self.last = last
        self.heard = []

    def __call__(self, request):
        if request.api_key == SASL_HANDSHAKE:
            return ByteReader(Writer().i16(0).array(["SCRAM-SHA-256"], Writer.string).done())
        token = ByteReader(request.body).blob().decode()
        self.heard.append(token)
        first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        answer = first if len(self.heard) == 1 else self.last
        return ByteReader(Writer().i16(0).string(None).blob(answer.encode()).done())


USER = Security("SASL_PLAINTEXT", "SCRAM-SHA-256", "user", "pencil")


def test_scram_sends_the_proof_of_the_rfc(monkeypatch):
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")
    server = Server()
    sasl.authenticate(USER, server, "broker")
    assert server.heard[0] == "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert server.heard[1].endswith("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")


def test_a_server_that_does_not_know_the_password_is_not_believed(monkeypatch):
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")
    with pytest.raises(sasl.AuthenticationError, match="did not prove"):
        sasl.authenticate(USER, Server(last="v=AAAA"), "broker")


def test_an_unknown_mechanism_names_what_the_broker_offers():
    def offers_other(_):
        return ByteReader(Writer().i16(33).array(["GSSAPI"], Writer.string).done())

    with pytest.raises(sasl.AuthenticationError, match="offers GSSAPI, not SCRAM-SHA-256"):
        sasl.authenticate(USER, offers_other, "broker")


def test_openssl_is_never_left_to_ask_for_a_password_on_the_terminal(monkeypatch):
    given = []

    class Context:
        check_hostname = True

        def load_cert_chain(self, *arguments):
            given.append(arguments)

        def wrap_socket(self, plain, **_):
            return plain

    monkeypatch.setattr("ssl.create_default_context", lambda **_: Context())
    Security("SSL", cert_file="c.pem", key_file="k.pem").wrap(None, "h")
    assert given == [("c.pem", "k.pem", "")]
