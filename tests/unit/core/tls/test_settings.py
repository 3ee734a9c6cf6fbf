"""A context is what the settings of a file say; failures are tried on a real TLS server of this process."""

import contextlib
import socket
import ssl
import threading
from datetime import timedelta

import pytest

from kfix.core.endpoint import plain_reason
from kfix.core.tls.settings import Tls, context_of, known_suite, openssl_name
from kfix.lab.security.certificates import CertificateAuthority, pem
from tests.waiting import seconds

AUTHORITY = CertificateAuthority.new("kfix test")


def trusting(**more):
    return Tls(ca=pem(AUTHORITY.certificate), **more)


@contextlib.contextmanager
def server(tmp_path, issued, client_ca=None, change=lambda context: None):
    """A TLS server that answers each client with one byte, or ends."""
    file = tmp_path / "server.pem"
    file.write_text(issued.key_pem() + issued.chain_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=pem(client_ca.certificate))
    change(context)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            with contextlib.suppress(OSError):
                line, _ = listening.accept()
                with line, contextlib.suppress(OSError), context.wrap_socket(line, server_side=True) as secure:
                    secure.sendall(b"!")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
    thread.join(seconds(5))


def reason(port, tls, name="127.0.0.1"):
    """Returns why no byte comes, "" if it does."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
            context_of(tls).wrap_socket(plain, server_hostname=name) as line,
        ):
            return "" if line.recv(1) == b"!" else "closed"
    except OSError as error:
        return plain_reason(error)


def test_a_server_of_the_authority_is_trusted_and_the_context_is_made_once(tmp_path):
    with server(tmp_path, AUTHORITY.issue("node", ["127.0.0.1"])) as port:
        assert reason(port, trusting()) == ""
    assert context_of(trusting()) is context_of(trusting())


@pytest.mark.parametrize(
    ("tls", "hosts", "valid", "why"),
    [
        (Tls(ca=pem(CertificateAuthority.new("other").certificate)), ["127.0.0.1"], 1, "the CA of the server's"),
        (Tls(), ["127.0.0.1"], 1, "the CA of the server's certificate is unknown: add it to ssl.truststore"),
        (trusting(), ["127.0.0.1"], -1, "has expired"),
        (trusting(), ["node.kfix.test"], 1, "is for another host than 127.0.0.1"),
    ],
)
def test_a_server_that_is_not_accepted_is_named_with_the_way_on(tmp_path, tls, hosts, valid, why):
    with server(tmp_path, AUTHORITY.issue("node", hosts, timedelta(days=valid))) as port:
        assert why in reason(port, tls)


def test_without_the_check_of_the_name_any_name_will_do(tmp_path):
    with server(tmp_path, AUTHORITY.issue("node", ["node.kfix.test"])) as port:
        assert reason(port, trusting(check_hostname=False)) == ""


def test_a_certificate_of_the_trust_store_need_not_be_an_authority(tmp_path):
    node = AUTHORITY.issue("node", ["127.0.0.1"])
    with server(tmp_path, node) as port:
        assert reason(port, Tls(ca=pem(node.certificate))) == ""


@pytest.mark.parametrize("password", ["", "s3cret"])
def test_a_client_certificate_is_shown_also_with_an_encrypted_key(tmp_path, password):
    ann = AUTHORITY.issue("ann")
    own = {"chain": ann.chain_pem, "key": ann.key_pem(password), "key_password": password}
    with server(tmp_path, AUTHORITY.issue("node", ["127.0.0.1"]), AUTHORITY) as port:
        assert reason(port, trusting(**own)) == ""


def test_a_missing_and_a_foreign_client_certificate_are_named(tmp_path):
    node, other = AUTHORITY.issue("node", ["127.0.0.1"]), CertificateAuthority.new("other").issue("ann")
    with server(tmp_path, node, AUTHORITY) as port:
        assert reason(port, trusting()) == "TLS failed: the server requires a client certificate: set ssl.keystore.*"
    with server(tmp_path, node, AUTHORITY) as port:
        assert "does not know the CA of the client" in reason(
            port, trusting(chain=other.chain_pem, key=other.key_pem())
        )


def test_versions_and_suites_are_kept_to(tmp_path):
    def old(context):
        context.maximum_version = ssl.TLSVersion.TLSv1_2

    def one(context):
        old(context)
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")

    node = AUTHORITY.issue("node", ["127.0.0.1"])
    with server(tmp_path, node, change=old) as port:
        assert "no TLS version in common" in reason(port, trusting(versions=("TLSv1.3",)))
    suites = ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",)
    with server(tmp_path, node, change=one) as port:
        assert "no cipher suite in common" in reason(port, trusting(ciphers=suites))
    with server(tmp_path, node) as port:
        assert reason(port, trusting(ciphers=suites)) == ""
    assert context_of(trusting(ciphers=suites)).maximum_version == ssl.TLSVersion.TLSv1_2


def test_a_port_without_tls_is_named():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            line, _ = listening.accept()
            with line:
                line.recv(100)
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        assert "does not use TLS at this port" in reason(listening.getsockname()[1], trusting())


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
    ],
)
def test_javas_names_of_suites_are_openssls(suite, name):
    assert openssl_name(suite) == name
    assert known_suite(suite)


def test_suites_of_tls_1_3_have_one_name_and_nonsense_has_none():
    assert known_suite("TLS_AES_256_GCM_SHA384")
    assert not known_suite("TLS_NO_SUCH_SUITE")
    assert not known_suite("TLS_NO_WITH_SUCH")
    assert not known_suite("SUITE")


def test_openssl_is_never_left_to_ask_for_a_password_on_the_terminal():
    ann = AUTHORITY.issue("ann")
    with pytest.raises(ssl.SSLError):
        context_of(trusting(chain=ann.chain_pem, key=ann.key_pem("s3cret")))
