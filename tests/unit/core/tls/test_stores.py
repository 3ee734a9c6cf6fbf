"""Every format of a store gives the same certificates and the same key."""

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from kfix.core.tls.stores import KeyStoreError, identity, pem_parts, trusted_certificates
from tests.unit.core.tls.stores_of import PASSWORD, keytool


@pytest.mark.parametrize("name", ["trust.p12", "trust.jks", "ca.pem"])
def test_a_trust_store_of_any_format_has_the_authority(stores, name):
    folder, *_ = stores
    assert trusted_certificates((folder / name).read_bytes(), PASSWORD) == (folder / "ca.pem").read_text()


def test_java_reads_a_jks_trust_store_without_its_password_and_so_does_kfix(stores):
    folder, *_ = stores
    assert trusted_certificates((folder / "trust.jks").read_bytes(), None) == (folder / "ca.pem").read_text()


@pytest.mark.parametrize("name", ["own.p12", "own.jks", "own.pem"])
def test_a_key_store_of_any_format_has_the_key_and_its_chain(stores, name):
    folder, _, own = stores
    found = identity((folder / name).read_bytes(), PASSWORD, PASSWORD)
    assert found.encrypted == (name == "own.pem")
    key = load_pem_private_key(found.key.encode(), PASSWORD.encode() if found.encrypted else None)
    assert public(key) == public(own.key)
    assert found.chain == own.chain_pem
    assert "PRIVATE" not in repr(found)


def public(key):
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("name", ["trust.p12", "trust.jks"])
def test_a_wrong_password_is_named_as_one(stores, name):
    folder, *_ = stores
    with pytest.raises(KeyStoreError, match="password is wrong") as caught:
        trusted_certificates((folder / name).read_bytes(), "wrong")
    assert caught.value.password


def test_a_jks_key_of_another_password_is_named(stores):
    folder, *_ = stores
    with pytest.raises(KeyStoreError, match="password of its private key is wrong"):
        identity((folder / "own.jks").read_bytes(), PASSWORD, "wrong")


def test_every_cut_of_a_store_is_one_reason_and_no_crash(stores):
    folder, *_ = stores
    for name in ("own.jks", "own.p12", "trust.jks"):
        data = (folder / name).read_bytes()
        for end in range(0, len(data) - 1, 37):
            with pytest.raises(KeyStoreError):
                identity(data[:end], PASSWORD, PASSWORD)


def test_a_jceks_store_is_named_with_the_way_to_convert_it(stores):
    folder, *_ = stores
    keytool(folder, "own.p12", "own.jceks", "JCEKS")
    with pytest.raises(KeyStoreError, match=r"JCEKS.*-deststoretype PKCS12"):
        identity((folder / "own.jceks").read_bytes(), PASSWORD, PASSWORD)


def test_a_trust_store_without_a_certificate_and_a_key_store_without_a_key_are_refused(stores):
    folder, *_ = stores
    with pytest.raises(KeyStoreError, match="has no private key"):
        identity((folder / "trust.jks").read_bytes(), PASSWORD, None)
    with pytest.raises(KeyStoreError, match="has no private key"):
        identity((folder / "ca.pem").read_bytes(), None, None)
    with pytest.raises(KeyStoreError, match="no PEM, PKCS12 or JKS"):
        trusted_certificates(b"hello", None)


def test_pem_on_one_line_is_what_kafka_reads_it_as(stores):
    folder, *_ = stores
    text = (folder / "ca.pem").read_text()
    [(label, found)] = pem_parts(text.replace("\n", " "))
    assert (label, found) == ("CERTIFICATE", text)
