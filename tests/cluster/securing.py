"""Client properties of a secured lab with something changed, and brokers with a certificate that has expired."""

import gzip
from contextlib import contextmanager
from pathlib import Path

from kfix.lab.definition.state import folder_of


def secrets_of(lab):
    return {lab.state.secret, lab.state.spec.sasl[1] if lab.state.spec.sasl else lab.state.secret}


def holders(folder, secrets):
    found = []
    for file in Path(folder).rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            data = gzip.decompress(data) if file.suffix == ".gz" else data
            found += [file] if any(secret.encode() in data for secret in secrets) else []
    return found


def changed(lab, tmp_path, **keys):
    """The client properties with other values; None removes a key. Dots are written as two underscores."""
    lines = Path(lab.client_files[0]).read_text().splitlines()
    names = {key.replace("__", "."): value for key, value in keys.items()}
    kept = [line for line in lines if line.partition("=")[0] not in names]
    file = tmp_path / "changed.properties"
    file.write_text("\n".join([*kept, *(f"{key}={value}" for key, value in names.items() if value is not None)]) + "\n")
    return file


def one_line(said):
    assert said.out == ""
    [line] = [line for line in said.err.splitlines() if line.startswith("kfix:")]
    return line


def one_value(pem_file):
    """A PEM text as one line of a file of properties."""
    return "\\n".join(pem_file.read_text().splitlines())


@contextmanager
def of_its_node(lab, _folder, expired):
    store = folder_of(lab.state) / "node.p12"
    before = store.read_bytes()
    store.write_bytes(expired)
    try:
        lab.restart(7)
        yield
    finally:
        store.write_bytes(before)
        lab.restart(7)


@contextmanager
def of_its_listener(lab, folder, expired):
    """Controllers of KRaft have the certificate of the node; so the broker gets one for its secured listener alone."""
    (folder / "expired.p12").write_bytes(expired)
    with lab.access() as access:
        before = access.configs("brokers").get("7", {})
        key = f"listener.name.{lab.state.spec.listener.lower()}.ssl.keystore.location"
        access.write_config("brokers", "7", {**before, key: str(folder / "expired.p12")})
        try:
            yield
        finally:
            access.write_config("brokers", "7", before)


def inline(lab, tmp_path):
    """Client properties with the PEM text itself, and their secrets, {name: value}, in a file beside them."""
    folder, spec = folder_of(lab.state), lab.state.spec
    stores = {"ssl__truststore__type": "PEM", "ssl__truststore__certificates": one_value(folder / "ca.pem")}
    if spec.security == "mtls":
        key, end, chain = (folder / "client.pem").read_text().partition("-----END ENCRYPTED PRIVATE KEY-----\n")
        (tmp_path / "key.pem").write_text(key + end)
        (tmp_path / "chain.pem").write_text(chain)
        stores["ssl__keystore__type"] = "PEM"
        stores["ssl__keystore__key"] = one_value(tmp_path / "key.pem")
        stores["ssl__keystore__certificate__chain"] = one_value(tmp_path / "chain.pem")
    provider = {
        "config__providers": "own",
        "config__providers__own__class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config__providers__own__param__allowed__paths": tmp_path,
    }
    gone = dict.fromkeys(
        ("ssl__truststore__location", "ssl__truststore__password", "ssl__keystore__location", "ssl__keystore__password")
    )
    file = changed(lab, tmp_path, **gone, **stores, **provider)
    text, secrets = file.read_text(), {}
    for number, secret in enumerate(sorted(secrets_of(lab))):
        if secret in text:
            secrets[f"secret{number}"] = secret
            text = text.replace(secret, "${own:" + f"{tmp_path}/secrets:secret{number}" + "}")
    file.write_text(text)
    (tmp_path / "secrets").write_text("".join(f"{name}={value}\n" for name, value in secrets.items()))
    return file, secrets
