"""References to config providers, resolved as Kafka's ConfigTransformer does."""

import pytest

from kfix.core.errors import InvalidFileError
from kfix.core.properties.parsing import Property
from kfix.core.properties.providers import resolved

PACKAGE = "org.apache.kafka.common.config.provider"
KINDS = {"file": "File", "dir": "Directory", "env": "EnvVar"}


def properties(tmp_path, value, **more):
    given = {"config.providers": ",".join(KINDS)}
    given |= {f"config.providers.{name}.class": f"{PACKAGE}.{kind}ConfigProvider" for name, kind in KINDS.items()}
    given |= {key.replace("_", "."): text for key, text in more.items()} | {"sasl.password": value}
    return {key: Property(text, line) for line, (key, text) in enumerate(given.items(), 1)}


def value_of(tmp_path, value, environ=None, **more):
    found, notes = resolved(properties(tmp_path, value, **more), tmp_path / "c.properties", environ or {})
    return found["sasl.password"].value, notes


@pytest.fixture
def secrets(tmp_path):
    (tmp_path / "s.properties").write_text("pw=hunter2\nother=x\n")
    (tmp_path / "pw").write_text("hunter3\n")
    return tmp_path


def test_a_key_of_a_file_a_file_of_a_folder_and_a_variable(secrets):
    assert value_of(secrets, f"${{file:{secrets}/s.properties:pw}}")[0] == "hunter2"
    assert value_of(secrets, f"${{dir:{secrets}:pw}}")[0] == "hunter3"
    assert value_of(secrets, "${env:PW}", {"PW": "hunter4"})[0] == "hunter4"
    assert value_of(secrets, "${env::PW}", {"PW": "hunter4"})[0] == "hunter4"


def test_a_reference_may_be_a_part_of_a_value(secrets):
    jaas = f'x.PlainLoginModule required username="a" password="${{file:{secrets}/s.properties:pw}}";'
    assert value_of(secrets, jaas)[0].endswith('password="hunter2";')


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("${{file:{folder}/none:pw}}", "cannot be read: no such file"),
        ("${{file:{folder}/s.properties:none}}", "has no key none"),
        ("${{dir:{folder}:../etc}}", "is not the name of a file"),
        ("${{env:NONE}}", "the environment variable NONE is not set"),
    ],
)
def test_a_reference_without_a_value_is_named_with_its_place(secrets, value, why):
    with pytest.raises(InvalidFileError) as caught:
        value_of(secrets, value.format(folder=secrets))
    [problem] = caught.value.problems
    assert problem.startswith(f"{secrets}/c.properties:5:1: sasl.password: ")
    assert why in problem


def test_an_undefined_provider_leaves_the_text_and_is_noted(secrets):
    value, [note] = value_of(secrets, "${vault:a:b}")
    assert value == "${vault:a:b}"
    assert "'vault', which config.providers does not define" in note


def test_what_a_provider_allows_is_kept_to(secrets):
    with pytest.raises(InvalidFileError, match="outside of the provider's"):
        value_of(secrets, f"${{dir:{secrets}:pw}}", **{"config.providers.dir.param.allowed.paths": "/nowhere"})
    with pytest.raises(InvalidFileError, match="allowlist"):
        value_of(secrets, "${env:PW}", {"PW": "x"}, **{"config.providers.env.param.allowlist.pattern": "KAFKA_.*"})


def test_a_foreign_provider_class_is_not_supported(tmp_path):
    given = properties(tmp_path, "x") | {"config.providers.env.class": Property("com.example.Vault", 9)}
    with pytest.raises(InvalidFileError, match=r":9:1: the config provider com.example.Vault is not supported"):
        resolved(given, tmp_path / "c.properties", {})
