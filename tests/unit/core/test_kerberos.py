"""The client's half of RFC 4752, with a stand-in for the library: real tickets are tried in tests/cluster."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from kfix.core import kerberos
from kfix.core.kafka import sasl
from kfix.core.kafka.codec import ByteReader
from kfix.core.kafka.sasl import SASL_HANDSHAKE
from kfix.core.kafka.security import Security
from kfix.core.kerberos import Kerberos, KerberosError, kerberos_reason, number_of, short_name
from tests.each import for_each
from tests.waiting import seconds
from tests.wire import Reader, Writer

NO_LAYER, ALL_LAYERS, ONLY_PRIVACY = b"\1\0\0\0", b"\7\0\xff\xff", b"\4\0\xff\xff"
SETTINGS = Kerberos(principal="kfix@REALM", keytab="/dev/null")


class Context:
    """Complete after two tokens, as with mutual authentication; a wrapped text has a W before it."""

    def __init__(self, **_):
        self.complete = False

    def step(self, challenge):
        self.complete = challenge is not None
        return None if self.complete else b"first"

    def unwrap(self, data):
        return SimpleNamespace(message=data[1:])

    def wrap(self, data, encrypt):
        assert encrypt is False
        return SimpleNamespace(message=b"W" + data)


@pytest.fixture
def library(monkeypatch):
    monkeypatch.setattr("gssapi.SecurityContext", Context)
    monkeypatch.setattr(kerberos, "_credentials", lambda _: (None, True))


class Broker:
    def __init__(self, *answers, error=0):
        self.answers, self.heard, self.error = list(answers), [], error

    def __call__(self, request):
        if request.api_key == SASL_HANDSHAKE:
            return request.decode(ByteReader(Writer().i16(0).array(["GSSAPI"], Writer.string).done()))
        self.heard.append(Reader(request.body).blob())
        if self.error:
            return request.decode(ByteReader(Writer().i16(self.error).string("no").blob(b"").done()))
        return request.decode(ByteReader(Writer().i16(0).string(None).blob(self.answers.pop(0)).done()))


def authenticated(broker, seconds=5):
    security = Security("SASL_SSL", "GSSAPI", "kfix", kerberos=SETTINGS)
    sasl.authenticate(security, broker, "broker.test:9092", seconds)


@pytest.mark.usefixtures("library")
def test_the_layer_none_is_taken_as_the_rfc_has_it():
    broker = Broker(b"second", b"W" + ALL_LAYERS, b"")
    authenticated(broker)
    assert broker.heard == [b"first", b"", b"W" + NO_LAYER]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("offer", [ONLY_PRIVACY, b"", b"\1", b"\1\0\0\0\0"])
def test_a_broker_without_the_layer_none_is_refused(offer):
    with pytest.raises(sasl.AuthenticationError, match="requires a security layer"):
        authenticated(Broker(b"second", b"W" + offer))


@pytest.mark.usefixtures("library")
def test_a_broker_that_refuses_the_ticket_names_its_own_key():
    with pytest.raises(sasl.AuthenticationError, match="the key in the broker's keytab may not be that of the KDC"):
        authenticated(Broker(error=58))


def test_a_kdc_that_does_not_answer_ends_in_time(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(kerberos, "_credentials", lambda _: ended.wait(seconds(20)))
    with pytest.raises(sasl.AuthenticationError, match="no KDC of the realm answered in time"):
        authenticated(Broker(), seconds=0.2)
    ended.set()


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(sasl.AuthenticationError, match=r"GSSAPI needs the extra kerberos: pip install 'kafka-kfix"):
        authenticated(Broker())


def test_a_keytab_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(KerberosError, match=r"none.keytab cannot be read: no such file"):
        kerberos.GssClient(Kerberos(principal="a@B", keytab=str(tmp_path / "none.keytab")), "broker", 5)


@for_each(
    ("minor", "with_keytab", "why"),
    [
        (2529638918, True, "the KDC does not know the principal kfix@REALM"),
        (2529638919, True, "the KDC does not know the service kafka/b: check sasl.kerberos.service.name"),
        (2529638943, True, "is not that of kfix@REALM: export the keytab again"),
        (2529638944, False, "the Kerberos ticket has expired: kinit"),
        (2529638949, False, "synchronize them (NTP)"),
        (2529639060, True, "synchronize them (NTP)"),
        (2529639066, True, "krb5.conf names no KDC of the realm"),
        (2529639068, True, "no KDC of the realm answers"),
        (2529639107, True, "/dev/null has no key of kfix@REALM: see klist -k"),
        (2529639107, False, "there is no Kerberos ticket in the user's ticket cache: kinit"),
        (39756032, False, "is not of kfix@REALM: kinit kfix@REALM"),
        (5, True, "what the library says"),
    ],
)
def test_a_number_of_the_library_is_a_sentence_with_its_way_on(minor, with_keytab, why):
    names = SETTINGS.named("kafka/b")
    assert why in kerberos_reason(minor, "what the library says", names, with_keytab=with_keytab)


def test_numbers_count_from_the_base_of_krb5():
    assert [number_of(2529638918), number_of(2529639107)] == [6, 195]


def test_the_short_name_is_the_first_part():
    assert [short_name(each) for each in ("kfix@R", "kfix/host@R", "kfix", "")] == ["kfix", "kfix", "kfix", ""]


def test_a_krb5_conf_of_the_file_is_used_and_that_of_the_system_put_back(monkeypatch):
    monkeypatch.setattr(kerberos, "_SYSTEM_CONFIG", "/system")
    monkeypatch.setenv("KRB5_CONFIG", "/system")
    seen = []
    for path in ("/own", ""):
        kerberos._use_config(path)
        seen.append(kerberos.os.environ["KRB5_CONFIG"])
    assert seen == ["/own", "/system"]
