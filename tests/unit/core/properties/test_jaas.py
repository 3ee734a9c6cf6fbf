import pytest

from kfix.core.properties.jaas import JaasError, parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f'{PLAIN} required username="ann" password="p\\"w";', {"username": "ann", "password": 'p"w'}),
        (f"{PLAIN} required username='ann' password='p;w=' ;", {"username": "ann", "password": "p;w="}),
        (f"{PLAIN} required username=ann /* who */ password=pw // why\n;", {"username": "ann", "password": "pw"}),
        (f'{PLAIN} required username = "ann"\n   password="";', {"username": "ann", "password": ""}),
        (f"{PLAIN} required keyTab=/etc/k.keytab;", {"keyTab": "/etc/k.keytab"}),
        (f"{PLAIN} required;", {}),
    ],
)
def test_the_options_of_a_login_module(text, options):
    found = parse_jaas(text)
    assert (found.module, dict(found.options)) == ("PlainLoginModule", options)
    assert "pw" not in repr(found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'{PLAIN} required username="ann" password="hunter2"', "semicolon"),
        (f'{PLAIN} username="ann";', "required"),
        (f'{PLAIN} required username="ann password=hunter2;', "quotation mark"),
        (f'{PLAIN} required username="ann" hunter2;', "after the option username"),
    ],
)
def test_a_mistake_is_named_without_a_value(text, why):
    with pytest.raises(JaasError, match=why) as caught:
        parse_jaas(text)
    assert "hunter2" not in str(caught.value)
