"""Reads a cluster in the background while the code that judges it is loaded."""

from collections.abc import Callable
from threading import Thread

from kfix.core.snapshot.snapshot import Snapshot


class InTheBackground:
    """A daemon thread, so that Ctrl-C ends the command and not only the wait."""

    def __init__(self, work: Callable[[], Snapshot]) -> None:
        self._work = work
        self._snapshot: Snapshot | None = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="kfix snapshot", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._snapshot = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error

    def result(self) -> Snapshot:
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._snapshot is not None
        return self._snapshot
