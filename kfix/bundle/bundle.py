"""Makes a bundle: the texts, masked, and the file with its manifest."""

import gzip
import hashlib
import io
import json
import os
import platform
import sys
import tarfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from kfix import __version__
from kfix.bundle.masking import Mask, hosts_of, properties_text, secrets_of
from kfix.core.access import Access
from kfix.core.declared import Count
from kfix.core.documents.opening import read_file
from kfix.core.documents.outputs import written
from kfix.core.errors import KfixError
from kfix.core.harmless import for_json
from kfix.core.kafka.security import Security
from kfix.core.places import config_home, state_home
from kfix.core.properties.parsing import read_properties
from kfix.core.saved.files import encode
from kfix.core.snapshot.snapshot import Endpoint, Snapshot
from kfix.core.timing import TIMING
from kfix.core.wording import utc_iso
from kfix.diagnose.diagnosis import judge_once
from kfix.diagnose.report.json_findings import findings_json
from kfix.heal.journal.runs import RunStore

#: The last runs of the cluster, and the largest file of one, in bytes.
_MOST_RUNS: Final = 20
_LARGEST: Final = 8 << 20
_PACKAGES: Final = ("confluent-kafka", "cryptography", "kazoo", "msgspec", "pydantic", "rich", "typer")


class BundledJson:
    """A file of a bundle."""

    name: str
    bytes: Count
    sha256: str


class ManifestJson:
    """What a bundle holds: manifest.json in a file of kfix bundle"""

    schema: Literal["kfix.bundle/v1"]
    taken_at: Annotated[str, "UTC, ISO 8601"]
    kfix: Annotated[str, "version"]
    cluster: Annotated[str, "id"]
    anonymous: Annotated[bool, "true: names of hosts are replaced; the hashes of journals then no longer match"]
    left_out: Annotated[tuple[str, ...], "what could not be included, and why"]
    files: tuple[BundledJson, ...]


class Bundle:
    """The texts of a bundle by name. `left_out` are sentences."""

    def __init__(self, snapshot: Snapshot, access: Access | None, environ: Mapping[str, str]) -> None:
        self._snapshot = snapshot
        self.left_out: list[str] = []
        self.texts: dict[str, str] = {
            "snapshot.json": json.dumps(encode(snapshot)),
            "diagnosis.json": findings_json(judge_once(snapshot, TIMING)),
            "versions.json": json.dumps(versions(), indent=2),
        }
        self._bootstrap: tuple[Endpoint, ...] = ()
        self._secrets: frozenset[str] = frozenset()
        if access is not None:
            self._take_settings(access)
        policy = config_home(environ) / "policy.yaml"
        if policy.is_file():
            self._take("policy.yaml", policy)
        for name, path in _runs(snapshot, state_home(environ), self.left_out):
            self._take(name, path)

    def masked(self, *, anonymous: bool) -> dict[str, str]:
        hosts = hosts_of(self._snapshot, self._bootstrap) if anonymous else ()
        mask = Mask(self._secrets, hosts)
        self.left_out = [mask(sentence) for sentence in self.left_out]
        return {name: mask(text) for name, text in self.texts.items()}

    def _take_settings(self, access: Access) -> None:
        target = access.target()
        self._bootstrap = target.bootstrap
        values = read_properties(target.command_config) if target.command_config else {}
        self._secrets = secrets_of(values, target.security if target.command_config else Security())
        if values:
            self.texts["client.properties"] = properties_text(values)

    def _take(self, name: str, path: Path) -> None:
        try:
            self.texts[name] = read_file(path, _LARGEST).decode("utf-8", "backslashreplace")
        except (OSError, KfixError) as error:
            self.left_out.append(f"{name}: {error}")


def _runs(snapshot: Snapshot, home: Path, left_out: list[str]) -> Iterator[tuple[str, Path]]:
    """Yields the plan, the journal and the screens of the last runs on this cluster."""
    own = []
    for run in RunStore(home).runs():
        try:
            if run.plan().cluster.id == snapshot.cluster.id:
                own.append(run)
        except (KfixError, OSError) as error:
            left_out.append(f"run {run.id}: {error}")
    if len(own) > _MOST_RUNS:
        left_out.append(f"{len(own) - _MOST_RUNS} runs before {own[-_MOST_RUNS].id}")
    for run in own[-_MOST_RUNS:]:
        yield from ((f"runs/{run.id}/{path.name}", path) for path in sorted(run.path.iterdir()) if path.is_file())


def versions() -> dict[str, Any]:
    """Returns the versions of kfix, Python, the system and the libraries."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = ""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return {"kfix": __version__, "python": sys.version.split()[0], "system": system, "packages": found}


def packed(texts: Mapping[str, str], manifest: str, now: float) -> bytes:
    """Returns the tar.gz: the manifest first, every file readable by its owner only."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=now) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, text in {"manifest.json": manifest, **texts}.items():
            content = text.encode()
            info = tarfile.TarInfo(f"kfix-bundle/{name}")
            info.size, info.mtime, info.mode = len(content), int(now), 0o600
            tar.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def manifest_of(bundle: Bundle, texts: Mapping[str, str], cluster: str, now: float, *, anonymous: bool) -> str:
    rows = []
    for name, text in texts.items():
        content = text.encode()
        rows.append(written(BundledJson, name=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest()))
    document = written(
        ManifestJson,
        taken_at=utc_iso(now),
        kfix=__version__,
        cluster=cluster,
        anonymous=anonymous,
        left_out=bundle.left_out,
        files=rows,
    )
    return for_json(document, indent=2) + os.linesep
