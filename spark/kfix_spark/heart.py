"""Notices that the Java process of a session has ended, answers nothing, or does nothing but collect garbage."""

import contextlib
import subprocess
import threading
import time
from typing import Any, Final

from kfix.core.errors import KfixError
from kfix_spark.spread import lost

#: Seconds without an answer, or of nothing but garbage collection, after which Java is considered to stand still.
STILL_FOR = 120.0
_BUSY_SHARE: Final = 0.9
#: Seconds in which a process that is about to end does so.
_ENDS_WITHIN: Final = 5.0
#: What Java returns if `-XX:+ExitOnOutOfMemoryError` ended it.
_NO_HEAP: Final = 3
_MEMORY: Final = "spark.driver.memory"
ENDED: Final = "Spark's Java process has ended: out of memory, or killed"


class Heart:
    """Watches `java`, the process that kfix started for a session. None, which is a caller's session, spark-submit or a
    Connect server, is neither watched nor ended.
    """

    def __init__(self, context: Any, java: subprocess.Popen[bytes] | None) -> None:
        self._context = context
        self._heap = str(context.getConf().get(_MEMORY, "1g"))
        self._asked_at = 0.0
        self._samples: list[tuple[float, float]] = []
        self._java = java

    def watch(self) -> None:
        """Is called every few seconds during a job. Raises KfixError if Java stands still, and ends it."""
        if self._java is None or self._java.poll() is not None:
            return
        now = time.monotonic()
        if not self._asked_at:
            self._asked_at = now
            # A thread of the interpreter's pool would keep this process from ending.
            threading.Thread(target=self._ask, name="kfix-heart", daemon=True).start()
        elif now - self._asked_at > STILL_FOR:
            raise self._stopped(f"Spark's Java process has not answered for {STILL_FOR:.0f} s")
        if self._share() > _BUSY_SHARE:
            raise self._stopped(f"Spark's Java process has done nothing but collect garbage for {STILL_FOR:.0f} s")

    def ended(self, otherwise: str = ENDED) -> KfixError:
        """Returns the error of work that got no answer; `otherwise` is its reason if this Java is still there."""
        code = None
        if self._java is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._java.wait(_ENDS_WITHIN)
        if code == _NO_HEAP:
            return self._without_heap("Spark's Java process has no memory left and has ended")
        return lost(otherwise if code is None else ENDED)

    def _ask(self) -> None:
        """Notes how many seconds Java has spent on garbage collection."""
        with contextlib.suppress(Exception):  # py4j's, or the socket's: then Java has not answered
            beans = self._context._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()  # noqa: SLF001
            spent = sum(bean.getCollectionTime() for bean in beans) / 1000
            self._samples.append((time.monotonic(), spent))
            self._asked_at = 0.0

    def _share(self) -> float:
        """Returns the share of garbage collection in the last `STILL_FOR` seconds, 0.0 if that is not known yet."""
        samples = [*self._samples]
        old = [each for each in samples if samples[-1][0] - each[0] >= STILL_FOR]
        if not old:
            return 0.0
        (began, before), (now, spent) = old[-1], samples[-1]
        self._samples = samples[len(old) - 1 :]
        return (spent - before) / (now - began)

    def _stopped(self, what: str) -> KfixError:
        """Ends Java: whatever still waits for its answer gets an error."""
        assert self._java is not None
        self._java.kill()
        return self._without_heap(what)

    def _without_heap(self, what: str) -> KfixError:
        return lost(
            f"{what}; its heap is {self._heap}",
            hint=f"--spark-conf {_MEMORY}=4g gives it more; without --spark the audit needs no Java",
        )
