"""SCRAM against the exchange printed in RFC 7677, OAUTHBEARER against RFC 7628."""

import pytest

from kfix.core.kafka import sasl
from kfix.core.kafka.codec import ByteReader
from kfix.core.kafka.sasl import SASL_HANDSHAKE
from kfix.core.kafka.security import Security
from kfix.core.oauth.settings import OAuth
from tests.wire import Reader, Writer


class Server:
    """The server's half of RFC 7677, 3: user `user`, password `pencil`."""

    def __init__(self, last="v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="):
        self.last = last
        self.heard = []

    def __call__(self, request):
        if request.api_key == SASL_HANDSHAKE:
            return request.decode(ByteReader(Writer().i16(0).array(["SCRAM-SHA-256"], Writer.string).done()))
        token = Reader(request.body).blob().decode()
        self.heard.append(token)
        first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        answer = first if len(self.heard) == 1 else self.last
        return request.decode(ByteReader(Writer().i16(0).string(None).blob(answer.encode()).done()))


USER = Security("SASL_PLAINTEXT", "SCRAM-SHA-256", "user", "pencil")


def test_scram_sends_the_proof_of_the_rfc(monkeypatch):
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")
    server = Server()
    sasl.authenticate(USER, server, "broker", 5)
    assert server.heard[0] == "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert server.heard[1].endswith("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")


def test_a_server_that_does_not_know_the_password_is_not_believed(monkeypatch):
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")
    with pytest.raises(sasl.AuthenticationError, match="did not prove"):
        sasl.authenticate(USER, Server(last="v=AAAA"), "broker", 5)


def test_an_unknown_mechanism_names_what_the_broker_offers():
    def offers_other(request):
        return request.decode(ByteReader(Writer().i16(33).array(["GSSAPI"], Writer.string).done()))

    with pytest.raises(sasl.AuthenticationError, match="offers GSSAPI, not SCRAM-SHA-256"):
        sasl.authenticate(USER, offers_other, "broker", 5)


class Bearer:
    """A broker that answers the tokens it gets one by one."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heard = []

    def __call__(self, request):
        if request.api_key == SASL_HANDSHAKE:
            return request.decode(ByteReader(Writer().i16(0).array(["OAUTHBEARER"], Writer.string).done()))
        self.heard.append(Reader(request.body).blob().decode())
        return request.decode(ByteReader(self.answers.pop(0)))


def bearer(tmp_path, **more):
    (tmp_path / "token").write_text("abc.def.ghi")
    return Security("SASL_SSL", "OAUTHBEARER", "ann", oauth=OAuth(file=str(tmp_path / "token"), **more))


ACCEPTED = Writer().i16(0).string(None).blob(b"").done()


def test_a_token_is_sent_with_its_extensions_as_the_rfc_has_it(tmp_path):
    broker = Bearer(ACCEPTED)
    sasl.authenticate(bearer(tmp_path, extensions=(("traceId", "7"),)), broker, "broker", 5)
    assert broker.heard == ["n,,\x01auth=Bearer abc.def.ghi\x01traceId=7\x01\x01"]


def test_a_refused_token_is_named_by_the_brokers_status_after_the_closing_message(tmp_path):
    why = Writer().i16(0).string(None).blob(b'{"status":"invalid_token"}').done()
    broker = Bearer(why, Writer().i16(58).string("no").blob(b"").done())
    with pytest.raises(sasl.AuthenticationError, match=r"refused the token \(invalid_token\)") as caught:
        sasl.authenticate(bearer(tmp_path), broker, "broker", 5)
    assert broker.heard[1] == "\x01"
    assert "abc.def" not in str(caught.value)
