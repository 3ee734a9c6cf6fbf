"""The jars of a Kafka version: resolved once by Maven, or from the `libs` of an unpacked distribution."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UsageError
from kfix.core.private import make_folders, write_private
from kfix.lab.process.host import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kfix.lab.definition.recipes import Recipe

_DOWNLOADED_JAR = re.compile(r"Downloaded from .*/([^/ ]+\.jar)")
#: In releases since 3.5, where most tools have left `kafka_2.13` by and by.
_TOOLS = """    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>${kafka.version}</version>
    </dependency>
"""
_ERROR = re.compile(r"^\[ERROR\]\s+(\S.*)$")


def resource_text(name: str) -> str:
    return resources.files("kfix.lab").joinpath("resources").joinpath(name).read_text(encoding="utf-8")


def cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kfix"


def class_path(recipe: Recipe, kafka_home: str | None, progress: Callable[[str], None], *, tools: bool = False) -> str:
    """Returns the jars of a broker, with `tools` also those of Kafka's own tools, which newer brokers do without."""
    if kafka_home:
        return _of_distribution(recipe, Path(kafka_home))
    pom = resource_text(recipe.pom)
    if tools:
        pom = pom.replace("  </dependencies>", f"{_TOOLS}  </dependencies>")
    cached = cache_home() / f"classpath-{recipe.kafka}-{hashlib.sha256(pom.encode()).hexdigest()[:12]}.txt"
    if cached.is_file():
        text = cached.read_text(encoding="utf-8").strip()
        if text and all(Path(jar).is_file() for jar in text.split(os.pathsep)):
            return text
    text = _resolve(recipe, pom, progress)
    make_folders(cached.parent)
    write_private(cached, text.encode())
    return text


def fetch(recipes: Iterable[Recipe], progress: Callable[[str], None]) -> None:
    """Downloads the jars of all `recipes` at the same time, so that their labs start at once and offline."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda recipe: class_path(recipe, None, progress), recipes))


def _of_distribution(recipe: Recipe, home: Path) -> str:
    jars = sorted((home / "libs").glob("*.jar"))
    versions = {found[1] for jar in jars if (found := re.fullmatch(r"kafka_2\.1\d-(\d[\d.]*)\.jar", jar.name))}
    if not versions:
        raise UsageError(
            f"--kafka-home {home}: no libs/kafka_2.1x-VERSION.jar in it", hint="an unpacked Kafka distribution"
        )
    if recipe.kafka not in versions:
        raise UsageError(
            f"--kafka-home {home} contains Kafka {', '.join(versions)}, not {recipe.kafka}", hint="add --kafka"
        )
    return os.pathsep.join(str(jar.absolute()) for jar in jars)


def _resolve(recipe: Recipe, pom: str, progress: Callable[[str], None]) -> str:
    maven = program("mvn", "Maven 3.6 or newer (or give --kafka-home an unpacked Kafka distribution)")
    progress(f"Kafka {recipe.kafka}: asking Maven for its jars")
    with tempfile.TemporaryDirectory(prefix="kfix-maven-") as folder:
        pom_file, answer = Path(folder, "pom.xml"), Path(folder, "classpath.txt")
        pom_file.write_text(pom, encoding="utf-8")
        command = [maven, "-B", "-f", str(pom_file), f"-Dkafka.version={recipe.kafka}", "dependency:build-classpath"]
        command.append(f"-Dmdep.outputFile={answer}")
        output = _run(command, recipe, progress)
        if not answer.is_file():
            reason = next((found[1] for line in output if (found := _ERROR.match(line))), "it named no reason")
            raise LabError(
                f"Maven could not resolve Kafka {recipe.kafka}: {reason}",
                hint="check Maven's settings.xml (mirror, proxy), or give --kafka-home an unpacked distribution",
            )
        return answer.read_text(encoding="utf-8").strip()


def _run(command: list[str], recipe: Recipe, progress: Callable[[str], None]) -> list[str]:
    output: list[str] = []
    jars = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as maven:
        assert maven.stdout is not None
        try:
            for line in maven.stdout:
                output.append(line.rstrip())
                if found := _DOWNLOADED_JAR.search(line):
                    jars += 1
                    progress(f"Kafka {recipe.kafka}: {jars} jars downloaded (of {recipe.jars}): {found[1]}")
        except BaseException:
            maven.kill()
            raise
    return output
