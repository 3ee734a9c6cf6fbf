"""The meaning of a Kerberos failure, in plain words, and its remedy.

GSS-API names a failure by two numbers. The minor one comes from MIT's library: a KDC's error of RFC 4120, 7.5.9, or an
error of the library itself, both counted from the same base (krb5_err.et).
"""

from __future__ import annotations

from collections.abc import Mapping

_BASE = -1765328384
_WORD = 1 << 32
_SKEW = "the clocks of this host, of the KDC or of the broker are more than 5 minutes apart: synchronize them (NTP)"
_EXPIRED = "the Kerberos ticket has expired: kinit, or set useKeyTab=true with a keyTab in sasl.jaas.config"
_NO_KDC = "no KDC of the realm answers: check kdc in krb5.conf (KRB5_CONFIG, java.security.krb5.conf) and the network"
_NO_TICKET = "there is no Kerberos ticket in {cache}: kinit, or set useKeyTab=true with a keyTab in sasl.jaas.config"
_NO_REALM = "krb5.conf names no KDC of the realm: check KRB5_CONFIG or java.security.krb5.conf"
_NOT_IN_KEYTAB = "{keytab} has no key of {principal}: see klist -k, and check principal and keyTab in sasl.jaas.config"
_WRONG_KEY = "the key in {keytab} is not that of {principal}: export the keytab again"
_NO_SERVICE = (
    "the KDC does not know the service {service}: check sasl.kerberos.service.name, and connect by the host name in "
    "the principal of the broker"
)
_NOT_OF_PRINCIPAL = "the ticket in {cache} is not of {principal}: kinit {principal}, or check sasl.jaas.config"
_NO_CACHE = "the ticket cache {cache} cannot be read: kinit"
#: {the KDC's or the library's number: sentence}.
_REASONS = {
    1: "the principal {principal} has expired: ask the administrator of the realm",
    6: "the KDC does not know the principal {principal}: check principal in sasl.jaas.config",
    7: _NO_SERVICE,
    14: "the KDC and this host have no encryption type in common: check permitted_enctypes in krb5.conf",
    18: "the principal {principal} is locked: ask the administrator of the realm",
    23: "the key of {principal} has expired: change it, and export the keytab again",
    24: _WRONG_KEY,
    31: _WRONG_KEY,
    32: _EXPIRED,
    37: _SKEW,
    68: _NO_REALM,
    148: _SKEW,
    154: _NO_REALM,
    156: _NO_KDC,
    181: _NOT_IN_KEYTAB,
    193: _NO_CACHE,
    195: _NO_TICKET,
    212: _NO_CACHE,
}
#: A number of GSS-API itself: the cache belongs to another principal.
_OTHER_PRINCIPAL = 39756032
NO_ANSWER = "no KDC of the realm answered in time: check kdc in krb5.conf and the network"


def number_of(minor: int) -> int:
    """Returns the KDC's or the library's number of a minor status, which has 32 bits."""
    return (minor - _WORD if minor >= _WORD >> 1 else minor) - _BASE


def kerberos_reason(minor: int, text: str, names: Mapping[str, str], *, with_keytab: bool) -> str:
    """Returns the sentence of a failure with these names; `text` is the library's own sentence.

    With `with_keytab`, the key of a keytab was used, and no ticket cache.
    """
    if minor == _OTHER_PRINCIPAL:
        return _NOT_OF_PRINCIPAL.format(**names)
    sentence = _REASONS.get(number_of(minor))
    if with_keytab and sentence == _NO_TICKET:
        sentence = _NOT_IN_KEYTAB
    return sentence.format(**names) if sentence is not None else text
