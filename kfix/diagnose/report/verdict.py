"""The verdict in one number: the exit code that every output of a diagnosis shares (docs/exit-codes.md)."""

from collections import Counter

from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS, Diagnosis, Severity
from kfix.core.harmless import one_line
from kfix.core.run import UnfinishedRun
from kfix.core.wording import are, several

_WORDS = {HEALTHY: "OK", WARNINGS: "WARNING", CRITICAL: "CRITICAL", CANNOT_TELL: "UNKNOWN"}
#: A source that was not read: reports list it separately from the findings.
UNREAD = "KFX901"
#: Exit codes of monitoring plugins.
_NAGIOS = {HEALTHY: 0, WARNINGS: 1, CRITICAL: 2, CANNOT_TELL: 3}


def exit_code(diagnosis: Diagnosis) -> int:
    """Returns 21 for a critical finding even if sources were not read; otherwise an unread source decides.

    As in the audit, muted findings do not count, and for a cluster in maintenance no finding does.
    """
    if diagnosis.maintenance:
        return WARNINGS if cut_short(diagnosis) else HEALTHY
    if diagnosis.worst is Severity.CRITICAL:
        return CRITICAL
    if diagnosis.could_not_read:
        return CANNOT_TELL
    return WARNINGS if diagnosis.worst is Severity.WARNING or cut_short(diagnosis) else HEALTHY


def cut_short(diagnosis: Diagnosis) -> tuple[UnfinishedRun, ...]:
    """Returns the unfinished runs without a live process: an operator has to resume or abort them."""
    return tuple(run for run in diagnosis.unfinished if not run.alive)


def held_back(diagnosis: Diagnosis) -> str:
    """Returns why a diagnosis without an alarm is not healthy (findings that the inventory mutes), or ""."""
    number = len(diagnosis.muted)
    return f"{several(number, 'finding')} {are(number)} muted" if number else ""


def counts(diagnosis: Diagnosis) -> dict[Severity, int]:
    """Returns the number of findings by severity, folded ones included."""
    found = Counter(f.severity for f in diagnosis.counted() if f.code != UNREAD)
    return {severity: found[severity] for severity in sorted(Severity, reverse=True)}


def counts_text(diagnosis: Diagnosis) -> str:
    """Returns `1 critical, 2 warnings`, or "" if nothing was found."""
    found = {s: n for s, n in counts(diagnosis).items() if n}
    return ", ".join(several(n, s.word) if s is Severity.WARNING else f"{n} {s.word}" for s, n in found.items())


def known_counts(diagnosis: Diagnosis) -> dict[Severity, int | None]:
    """Returns `counts`, with None for an uncertain zero: a source was not read, or findings are not shown."""
    hidden = {f.severity for f in diagnosis.hidden.findings}
    unread = bool(diagnosis.could_not_read)
    return {s: None if not n and (unread or s in hidden) else n for s, n in counts(diagnosis).items()}


def nagios_line(diagnosis: Diagnosis) -> str:
    """Returns one line for monitoring plugins: state, cluster, the worst head, and performance data after the bar."""
    code = exit_code(diagnosis)
    if code == CANNOT_TELL:
        text = f"could not read {'; '.join(diagnosis.could_not_read)}"
    elif (diagnosis.worst or Severity.INFO) is Severity.INFO and (runs := cut_short(diagnosis)):
        text = f"run {runs[0].id} of {runs[0].user} is unfinished"
    elif diagnosis.findings and (code != HEALTHY or (diagnosis.maintenance and diagnosis.worst)):
        head = diagnosis.findings[0]
        more = f" (and {len(diagnosis.findings) - 1} more)" if len(diagnosis.findings) > 1 else ""
        text = f"{head.code} {head.summary}{more}"
    elif diagnosis.headlines:
        text = f"no alarm, but {'; '.join(diagnosis.headlines)}"
    else:
        found = "no alarm" if diagnosis.muted else "nothing found"
        text = f"{several(diagnosis.looked_at.get('partitions', 0), 'partition')}, {found}"
    if diagnosis.maintenance:
        text = f"in maintenance ({diagnosis.maintenance}): {text}"
    if muted := held_back(diagnosis):
        text += f"; {muted}"
    # A plugin reports an unknown value as U.
    data = " ".join(f"{s.word}={'U' if n is None else n}" for s, n in known_counts(diagnosis).items())
    # The bar begins the performance data, so the text must not contain one.
    shown = f"{diagnosis.cluster}: {text}".replace("|", "/")
    return one_line(f"KFIX {_WORDS[code]} - {shown} | {data}")


def nagios_exit_code(diagnosis: Diagnosis) -> int:
    return _NAGIOS[exit_code(diagnosis)]
