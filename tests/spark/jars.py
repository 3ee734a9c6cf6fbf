"""Jars that tests need beside Spark's, by Maven, which downloads them once."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def jars_of(pom):
    """The jars of a pom in this folder."""
    maven = shutil.which("mvn")
    assert maven is not None, "the jars need Maven"
    with tempfile.TemporaryDirectory(prefix="kfix-maven-") as folder:
        answer = Path(folder, "classpath.txt")
        file = Path(__file__).with_name(pom)
        command = [maven, "-B", "-q", "-f", file, "dependency:build-classpath", f"-Dmdep.outputFile={answer}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        return answer.read_text().strip().split(os.pathsep)
