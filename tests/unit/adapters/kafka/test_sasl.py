"""SCRAM against the exchange printed in RFC 7677."""

import pytest

from kfix.adapters.kafka import sasl
from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.requests import SASL_HANDSHAKE
from kfix.adapters.kafka.security import Security


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
