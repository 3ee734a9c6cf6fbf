"""A secured ZooKeeper: read, locked and written to as the brokers are let in there, and what each mistake says."""

from pathlib import Path

import pytest

from kfix.core.properties.load import load_client_properties
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import parse_connect
from kfix.lab import Lab, LabSpec
from kfix.lab.definition.keeper_security import SUPER
from kfix.lab.nodes.configs import plain_zookeeper_connect
from kfix.lab.security.certificates import CertificateAuthority, pem
from tests.cluster.conftest import Kfix
from tests.cluster.remedy import Operator
from tests.cluster.securing import holders
from tests.zookeeper_view import read_view


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        yield


@pytest.fixture(scope="module")
def mtls(home):
    lab = Lab.up(LabSpec(name="keeper-mtls", ids=(7,), chroot="/kfix", zookeeper_security="mtls"))
    yield lab
    lab.down()


@pytest.fixture(scope="module")
def sasl(home):
    lab = Lab.up(LabSpec(name="keeper-sasl", ids=(7,), chroot="/kfix", zookeeper_security="sasl"))
    yield lab
    lab.down()


def diagnosed(lab, folder, file, *args):
    return Kfix(lab, folder / "state").run("diagnose", "--json", "--command-config", file, *args)


def changed(lab, folder, without, *lines):
    """Writes the lab's client properties without the keys that begin so, and with these lines."""
    kept = [each for each in Path(lab.client_files[0]).read_text().splitlines() if not each.startswith(without)]
    file = folder / "changed.properties"
    file.write_text("\n".join([*kept, *lines]) + "\n")
    return file


def elect_another_controller(lab, folder, file):
    """Plans and applies a runbook that takes the lock in ZooKeeper and deletes a znode there."""
    ann = Operator(lab, folder, "ann")
    ann.where = ("--command-config", file)
    with lab.access() as access:
        before = int(access._zk.get("/controller_epoch")[0])
        said = ann.apply(ann.plan("controller-reelect"))
        assert int(access._zk.get("/controller_epoch")[0]) == before + 1
    secret = lab.state.secret
    words = [(entry / "cmdline").read_bytes() for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    assert secret not in said.out + said.err
    assert holders(folder, {secret}) == []
    assert not [line for line in words if secret.encode() in line]


def refused(lab, folder, file, *args):
    """Returns why ZooKeeper was not read; the rest of the cluster is never called healthy then."""
    said = diagnosed(lab, folder, file, *args)
    assert said.code == 22, said.out + said.err
    assert lab.state.secret not in said.out + said.err
    [line] = [each for each in said.json["could_not_read"] if "zookeeper 127" in each or "zookeeper localhost" in each]
    return line


@pytest.mark.parametrize("number", [0, 1, 2], ids=["pkcs12", "jks", "pem"])
def test_zookeeper_with_client_certificates_is_read_with_stores_of_each_format(mtls, tmp_path, number):
    said = diagnosed(mtls, tmp_path, mtls.client_files[number])
    assert (said.code, said.json["could_not_read"], said.json["findings"]) == (0, [], [])


def test_a_run_takes_the_lock_and_deletes_a_znode_over_tls(mtls, tmp_path):
    elect_another_controller(mtls, tmp_path, mtls.client_files[0])


def test_many_znodes_are_read_over_tls_as_they_are_in_plain_text(mtls):
    with mtls.access() as access:
        access.create_topic("wide", [[7]] * 600, {})
    properties = load_client_properties(Path(mtls.client_files[0]))
    ways = parse_connect(mtls.zookeeper_connect, properties.access), parse_connect(plain_zookeeper_connect(mtls.state))
    (_, over_tls, unread), (_, plain, _) = [read_view(each, "PLAINTEXT", Deadline.after(20)) for each in ways]
    assert (len(over_tls.states), unread) == (600, {})
    assert (over_tls.states, over_tls.assignments) == (plain.states, plain.assignments)


def test_each_mistake_of_tls_is_one_line_that_names_the_key(mtls, tmp_path):
    plain = refused(mtls, tmp_path, changed(mtls, tmp_path, "zookeeper.ssl"))
    assert "it requires TLS (zookeeper.ssl.client.enable=true)" in plain
    unnamed = refused(mtls, tmp_path, changed(mtls, tmp_path, "zookeeper.ssl.keystore"))
    assert "client certificate: set zookeeper.ssl.keystore.*" in unnamed
    other = tmp_path / "other.pem"
    other.write_text(pem(CertificateAuthority.new("another").certificate))
    trusting = changed(mtls, tmp_path, "zookeeper.ssl.truststore", f"zookeeper.ssl.truststore.location={other}")
    expected = "CA of the server's certificate is unknown: add it to zookeeper.ssl.truststore.*"
    assert expected in refused(mtls, tmp_path, trusting)
    key = "zookeeper.ssl.keystore.password"
    said = Kfix(mtls, tmp_path / "state").run("diagnose", "--command-config", changed(mtls, tmp_path, key, f"{key}=no"))
    assert (said.code, "client.p12: its password is wrong" in said.err) == (2, True)


def test_tls_at_the_plain_port_names_the_switch(mtls, tmp_path):
    where = ("--bootstrap-server", mtls.bootstrap_servers, "--zookeeper", plain_zookeeper_connect(mtls.state))
    line = refused(mtls, tmp_path, mtls.client_files[0], *where)
    assert "does not use TLS at this port, or ended the handshake: check zookeeper.ssl.client.enable" in line


def test_the_name_in_the_certificate_is_compared_with_the_servers(mtls, tmp_path):
    port = mtls.zookeeper_connect.partition("/")[0].rpartition(":")[2]
    where = ("--bootstrap-server", mtls.bootstrap_servers, "--zookeeper", f"localhost:{port}/kfix")
    line = refused(mtls, tmp_path, mtls.client_files[0], *where)
    assert "for another host" in line
    assert "zookeeper.ssl.endpoint.identification.algorithm" in line
    key = "zookeeper.ssl.endpoint.identification.algorithm"
    lenient = changed(mtls, tmp_path, key, f"{key}=")
    assert diagnosed(mtls, tmp_path, lenient, *where).code == 0


def with_digest(lab, folder, password):
    """Writes client properties with a user of the scheme digest whom the servers give every right."""
    return changed(lab, folder, "zookeeper.sasl", f"zookeeper.auth.digest={SUPER}:{password}")


def not_applied(lab, folder, file, code):
    ann = Operator(lab, folder, "ann")
    ann.where = ("--command-config", file)
    said = ann.apply(ann.plan("controller-reelect"), code=code)
    assert lab.state.secret not in said.out + said.err
    return " ".join((said.out + said.err).split())


def test_without_a_login_neither_the_lock_nor_the_controller_is_written(sasl, tmp_path):
    """Runs first: the folder of the lock does not exist yet, and the chroot belongs to the brokers."""
    said = not_applied(sasl, tmp_path, changed(sasl, tmp_path, "zookeeper"), 3)
    assert "cannot take the lock: not allowed to write /kfix/kfix/lock" in said
    assert "does not grant CREATE to a client without authentication; authenticate as the brokers do" in said
    assert "not allowed to delete /kfix/controller: ZooKeeper's ACL does not grant DELETE" in said
    with sasl.access() as access:
        assert access._zk.exists("/kfix") is None


def test_the_brokers_own_login_reads_locks_and_deletes_a_protected_znode(sasl, tmp_path):
    with sasl.access() as access:
        assert [each.id.scheme for each in access._zk.get_acls("/controller")[0]] == ["sasl", "world"]
    said = diagnosed(sasl, tmp_path, sasl.client_files[0])
    assert (said.code, said.json["could_not_read"], said.json["findings"]) == (0, [], [])
    elect_another_controller(sasl, tmp_path, sasl.client_files[0])


def test_the_section_of_a_jaas_file_is_as_good(sasl, tmp_path):
    key = "zookeeper.sasl.jaas.config"
    [login] = [each for each in Path(sasl.client_files[0]).read_text().splitlines() if each.startswith(key)]
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f"Server {{ other.Module required; }};\nClient {{\n  {login.partition('=')[2]}\n}};\n")
    file = changed(sasl, tmp_path, key, f"java.security.auth.login.config={jaas}")
    assert diagnosed(sasl, tmp_path, file).code == 0


def test_a_digest_user_deletes_a_protected_znode_and_with_a_wrong_password_it_is_named(sasl, tmp_path):
    (tmp_path / "right").mkdir()
    elect_another_controller(sasl, tmp_path / "right", with_digest(sasl, tmp_path, sasl.state.secret))
    said = not_applied(sasl, tmp_path, with_digest(sasl, tmp_path, "wr0ng"), 3)
    assert "not allowed to delete /kfix/controller" in said
    assert "it used digest, where a wrong password is another identity" in said
    assert "nothing was deleted" in said
    assert "wr0ng" not in said


def test_a_wrong_password_of_sasl_is_one_line_that_names_the_user(sasl, tmp_path):
    file = tmp_path / "wrong.properties"
    file.write_text(Path(sasl.client_files[0]).read_text().replace('password="', 'password="wr0ng'))
    line = refused(sasl, tmp_path, file)
    assert "authentication refused for user 'kafka' of SASL DIGEST-MD5: check zookeeper.auth.*" in line
    assert "wr0ng" not in line


@pytest.mark.parametrize("path", ["/admin/delete_topics", "/config/topics/ledger"])
def test_a_znode_that_may_not_be_read_is_one_line_that_names_the_right(sasl, tmp_path, path):
    with sasl.access() as access:
        if path.endswith("ledger") and not access._zk.exists(path):
            access.create_topic("ledger", [[7]], {})
        before, _ = access._zk.get_acls(path)
        access._zk.set_acls(path, [each for each in before if each.id.scheme == "sasl"])
        try:
            line = refused(sasl, tmp_path, changed(sasl, tmp_path, "zookeeper"))
        finally:
            access._zk.set_acls(path, before)
    assert f"not allowed to read /kfix{path}: ZooKeeper's ACL does not grant READ to a client without" in line
    assert diagnosed(sasl, tmp_path, sasl.client_files[0]).code == 0


def test_sasl_at_a_server_without_it_is_refused_in_one_line(mtls, tmp_path):
    login = 'org.apache.zookeeper.server.auth.DigestLoginModule required username="ann" password="s3cret";'
    file = changed(mtls, tmp_path, "nothing", f"zookeeper.sasl.jaas.config={login}")
    line = refused(mtls, tmp_path, file)
    assert "authentication refused for user 'ann' of SASL DIGEST-MD5" in line
    assert "s3cret" not in line
