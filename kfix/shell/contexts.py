"""Contexts, for people and as JSON. No secret is part of them: client properties are named by their file."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from kfix.core.contexts.contexts import ContextList, ContextRow, TestedContext
from kfix.core.inventory.model import ClusterEntry
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.snapshot import PROTOCOL, Mode, Snapshot
from kfix.core.wording import several, some
from kfix.fleet.report.inventory import entry_json, window_words
from kfix.front.console import table

_SHOWN = 12


def show_contexts(found: ContextList, console: Console) -> None:
    shown = table(header_style="bold")
    for name in ("", "name", "owner", "tags", "where", "cluster id"):
        shown.add_column(name, overflow="fold")
    for row in found.rows:
        entry = row.entry
        where = entry.bootstrap or f"zookeeper {entry.zookeeper}"
        shown.add_row(
            "*" if row.used else "", entry.name, entry.owner, " ".join(entry.tags), where.replace(",", ", "), row.pinned
        )
    console.print(shown)
    used = next((row.entry.name for row in found.rows if row.used), "")
    chosen = f"in use: {used} ({found.by})" if used else "none is in use"
    console.print(f"{found.path}: {several(len(found.rows), 'cluster')}; {chosen}", soft_wrap=True)


def shown_lines(found: ContextList, row: ContextRow) -> Iterator[str]:
    entry = row.entry
    mutes = [m for m in found.inventory.mutes if m.names(entry.name)]
    pairs = (
        ("name", f"{entry.name}{f' (in use: {found.by})' if row.used else ''}"),
        ("inventory", str(found.path)),
        ("bootstrap", entry.bootstrap),
        ("zookeeper", entry.zookeeper),
        ("controllers", entry.bootstrap_controller),
        ("properties", entry.command_config or "none: plaintext, no authentication"),
        ("cluster id", _pin_words(entry, row.pinned)),
        ("owner", entry.owner),
        ("tags", " ".join(entry.tags)),
        ("criticality", entry.criticality.word),
        ("expected", f"replication factor {entry.expected.rf}, min.insync.replicas {entry.expected.min_isr}"),
        ("restart", f"{entry.restart_grace:g} s"),
        ("timeout", f"{entry.timeout:g} s"),
        *(("zone", f"{rack}: {name}") for rack, name in entry.zones.items()),
        *(("window", window_words(window)) for window in entry.windows),
        *(("mute", f"{', '.join(m.findings)} until {m.until}: {m.reason}") for m in mutes),
    )
    yield from (f"{name:<12} {value}" for name, value in pairs if value)


def _pin_words(entry: ClusterEntry, pinned: str) -> str:
    if entry.id:
        return f"{entry.id} (in the inventory)"
    return f"{pinned} (since its first use on this host)" if pinned else "not known on this host yet"


def contexts_json(found: ContextList, only: ContextRow | None = None) -> dict[str, Any]:
    rows = found.rows if only is None else (only,)
    return {
        "inventory": str(found.path),
        "by": found.by,
        "contexts": [
            {"name": r.entry.name, "used": r.used, "cluster_id": r.pinned, **entry_json(r.entry)} for r in rows
        ],
    }


def reached_lines(found: TestedContext) -> Iterator[str]:
    """Yields one screen: what answered, which cluster it is, and how this user reached it."""
    snapshot, name = found.snapshot, found.entry.name
    silent = [source for source in snapshot.sources if not source.ok]
    verdict = "reached" if found.complete else f"partly reached: {several(len(silent), 'source')} did not answer"
    if not snapshot.cluster.id:
        verdict = "reached, but its id is unknown"
    yield f"{name}: {verdict}, in {snapshot.seconds:.2f} s; nothing was changed"
    yield f"  cluster id   {_id_words(found)}"
    yield f"  mode         {_mode(snapshot)}"
    answered = [str(b) for b in sorted(snapshot.views) if b >= 0]
    yield f"  brokers      {some(answered, _SHOWN)} answered" if answered else "  brokers      none answered"
    if snapshot.zookeeper is not None:
        yield f"  zookeeper    {snapshot.zookeeper.server} answered"
    if snapshot.quorum is not None:
        controllers = snapshot.quorum.controllers
        yield f"  controllers  {sum(c.answered for c in controllers)} of {len(controllers)} answered"
    yield f"  security     {_security(found.security)}"
    yield from (f"  not read     {source.name}: {source.error or 'no answer'}" for source in silent)


def _id_words(found: TestedContext) -> str:
    now = found.snapshot.cluster.id
    if not now:
        return "unknown: no source reports it"
    if found.entry.id:
        return f"{now}, as in the inventory"
    if not found.pinned:
        return f"{now}, remembered from now on"
    return f"{now}, as before" if found.pinned == now else f"{now}, accepted instead of {found.pinned}"


def _mode(snapshot: Snapshot) -> str:
    mode = {Mode.ZOOKEEPER: "ZooKeeper", Mode.KRAFT: "KRaft"}.get(snapshot.cluster.mode, snapshot.cluster.mode.value)
    protocols = sorted({values[PROTOCOL] for values in snapshot.broker_configs.values() if PROTOCOL in values})
    return f"{mode}, {PROTOCOL} {', '.join(protocols)}" if protocols else mode


def _security(security: ClientSecurity) -> str:
    return f"{security}, user {security.user}" if security.user else str(security)


def reached_json(found: TestedContext) -> dict[str, Any]:
    snapshot = found.snapshot
    security = found.security
    return {
        "name": found.entry.name,
        "complete": found.complete,
        "cluster_id": snapshot.cluster.id,
        "pinned": found.pinned,
        "mode": snapshot.cluster.mode.value,
        "brokers": sorted(b for b in snapshot.views if b >= 0),
        "security": {"protocol": security.protocol, "mechanism": security.mechanism, "user": security.user},
        "sources": [{"name": s.name, "ok": s.ok, "error": s.error} for s in snapshot.sources],
        "seconds": round(snapshot.seconds, 3),
    }
