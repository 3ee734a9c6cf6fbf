import os
import stat
from dataclasses import replace

import pytest

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.recipes import RECIPES
from kfix.lab.nodes.classpath import class_path, fetch, resource_text

RECIPE = RECIPES["2.7.1", "zk"]

# Stands in for Maven: it counts its calls and writes the class path it is told to.
MAVEN = """#!/bin/sh
echo called >> "{folder}/calls"
echo "[INFO] Downloading from somewhere: a/b/one.jar"
echo "Downloaded from somewhere: a/b/one.jar (1 kB at 2 kB/s)"
for word in "$@"; do case "$word" in -Dmdep.outputFile=*) printf %s "{answer}" > "${{word#*=}}";; esac; done
"""
FAILING = "#!/bin/sh\necho '[INFO] x'\necho '[ERROR] Could not transfer artifact x: no route'\nexit 1\n"


@pytest.fixture
def maven(tmp_path, monkeypatch):
    jars = [tmp_path / "one.jar", tmp_path / "two.jar"]
    for jar in jars:
        jar.touch()
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    program = bin_folder / "mvn"
    program.write_text(MAVEN.format(folder=tmp_path, answer=os.pathsep.join(map(str, jars))))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return program


def calls(tmp_path):
    file = tmp_path / "calls"
    return len(file.read_text().splitlines()) if file.exists() else 0


def resolve(told=None, recipe=RECIPE):
    return class_path(recipe, None, told.append if told is not None else lambda _: None)


def test_maven_is_asked_once_and_then_the_answer_is_remembered(maven, tmp_path):
    told = []
    first = resolve(told)
    assert first.split(os.pathsep) == [str(tmp_path / "one.jar"), str(tmp_path / "two.jar")]
    assert any("1 jars downloaded" in text for text in told)
    assert resolve() == first
    assert calls(tmp_path) == 1


def test_a_jar_that_is_gone_makes_maven_be_asked_again(maven, tmp_path):
    resolve()
    (tmp_path / "two.jar").unlink()
    resolve()
    assert calls(tmp_path) == 2


def test_each_version_has_an_answer_of_its_own(maven, tmp_path):
    resolve()
    resolve(recipe=replace(RECIPE, kafka="9.9.9"))
    assert calls(tmp_path) == 2


def test_several_versions_are_fetched_at_the_same_time(maven, tmp_path):
    # Each call of Maven waits until the other one has begun.
    meeting = f'while [ "$(wc -l < "{tmp_path}/calls")" -lt 2 ]; do sleep 0.01; done\n'
    maven.write_text(maven.read_text() + meeting)
    fetch([RECIPE, replace(RECIPE, kafka="9.9.9")], lambda _: None)
    assert calls(tmp_path) == 2
    fetch([RECIPE], lambda _: None)
    assert calls(tmp_path) == 2


def test_a_version_that_cannot_be_fetched_is_named(maven):
    maven.write_text(FAILING)
    with pytest.raises(LabError, match=r"Kafka 2\.7\.1: Could not transfer"):
        fetch([RECIPE], lambda _: None)


def test_what_maven_says_is_wrong_is_told(maven):
    maven.write_text(FAILING)
    with pytest.raises(LabError, match="Could not transfer artifact x: no route"):
        resolve()


def test_without_maven_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(LabError, match="needs mvn") as told:
        resolve()
    assert "Maven" in told.value.hint
    assert "--kafka-home" in told.value.hint


def test_an_unpacked_distribution_is_taken_as_it_is(tmp_path):
    libs = tmp_path / "libs"
    libs.mkdir()
    for name in ("kafka_2.13-2.7.1.jar", "zookeeper-3.5.9.jar"):
        (libs / name).touch()
    found = class_path(RECIPE, str(tmp_path), lambda _: None).split(os.pathsep)
    assert found == [str(libs / "kafka_2.13-2.7.1.jar"), str(libs / "zookeeper-3.5.9.jar")]


def test_a_folder_that_is_no_distribution_or_of_another_version_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no libs/kafka_2\.1x"):
        class_path(RECIPE, str(tmp_path), lambda _: None)
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.12-3.0.0.jar").touch()
    with pytest.raises(UsageError, match=r"contains Kafka 3\.0\.0, not 2\.7\.1"):
        class_path(RECIPE, str(tmp_path), lambda _: None)


def test_the_pom_takes_the_version_from_outside_and_names_no_registry():
    pom = resource_text(RECIPE.pom)
    assert "${kafka.version}" in pom
    assert "http" not in pom
    assert "<repositor" not in pom
