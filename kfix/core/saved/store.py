"""The last snapshots of every cluster: they contain groups and brokers that a sick cluster no longer reports."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from kfix.core.derive.memory import remember
from kfix.core.documents.declared import dumped, loaded
from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.private import private_folder
from kfix.core.saved.files import parse, read_text, save, write_whole
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Snapshot

KEEP = 20
_MEMORY = "memory.json"


class SnapshotStore:
    """Stores snapshots under `root`, kfix's state folder; with None, nothing is stored.

    A failure is not an error, since a diagnosis must not depend on the store: `trouble` is why the last snapshot was
    not stored, "" if it was, or if there is no folder or no cluster id to store it by.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = None if root is None else root / "clusters"
        self.trouble = ""

    def keep(self, snapshot: Snapshot) -> Path | None:
        """Stores a snapshot and returns its path, or None if the cluster id is unknown or writing failed."""
        folder = self.folder(snapshot.cluster.id)
        if folder is None or not snapshot.cluster.id:
            return None
        path = folder / f"{int(snapshot.taken_at * 1000):015d}.json.gz"
        with self._forgiving(folder):
            private_folder(folder, folder.parent.parent)
            save(snapshot, path)
            self._note(snapshot, folder)
            for old in self.files(snapshot.cluster.id)[:-KEEP]:
                old.unlink(missing_ok=True)
        return None if self.trouble else path

    def note(self, snapshot: Snapshot) -> None:
        """Stores only what `recall` needs, not the snapshot itself, in a hundredth of the time of `keep`."""
        folder = self.folder(snapshot.cluster.id)
        if folder is not None and snapshot.cluster.id:
            with self._forgiving(folder):
                private_folder(folder, folder.parent.parent)
                self._note(snapshot, folder)

    @contextlib.contextmanager
    def _forgiving(self, folder: Path) -> Iterator[None]:
        self.trouble = ""
        try:
            yield
        except OSError as error:
            self.trouble = f"{folder}: {(error.strerror or 'cannot be written').lower()}"
        except UsageError as error:
            self.trouble = str(error)

    def _note(self, snapshot: Snapshot, folder: Path) -> None:
        write_whole(folder / _MEMORY, json.dumps(dumped(remember(snapshot))).encode())

    def files(self, cluster_id: str) -> list[Path]:
        folder = self.folder(cluster_id)
        return [] if folder is None else sorted(folder.glob("*.json.gz"))

    def recall(self, cluster_id: str) -> Memory:
        """Returns the groups and brokers of earlier snapshots of this cluster.

        They come from the small file beside the snapshots. If that is damaged, they come from the newest readable
        snapshot, since each snapshot contains the memory of the previous ones.
        """
        folder = self.folder(cluster_id)
        with contextlib.suppress(OSError, ValueError, UsageError):
            if folder is not None:
                return loaded(Memory, read_file(folder / _MEMORY))
        for path in reversed(self.files(cluster_id)):
            with contextlib.suppress(UsageError):
                return remember(parse(read_text(path), path))
        return Memory()

    def folder(self, cluster_id: str) -> Path | None:
        """Returns the folder of a cluster, which may not exist; None if nothing is stored."""
        return None if self._root is None else self._root / re.sub(r"[^A-Za-z0-9_-]", "_", cluster_id)
