"""kfix on a host with a wrong clock: `skewed.py SECONDS WORDS...`; one that jumps: `skewed.py SECONDS@AFTER WORDS...`.

The wall clock is shifted, from the start or AFTER so many seconds; the monotonic clock is right, as when NTP steps it.
"""

import datetime as dt
import sys
import time

shift, _, after = sys.argv.pop(1).partition("@")
real, began = time.time, time.monotonic()


def skewed() -> float:
    return real() + (float(shift) if time.monotonic() - began >= float(after or 0) else 0.0)


class Skewed(dt.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(skewed(), tz)


time.time = skewed
dt.datetime = Skewed  # type: ignore[misc]

from kfix.__main__ import main  # noqa: E402 - the clock is wrong from the first import on

main()
