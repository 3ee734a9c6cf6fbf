"""Seeded audits of any size, as the fleet's code makes them, with ordinary names or hostile ones."""

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from kfix.fleet.model.audit import (
    OPEN,
    AuditReport,
    CheckTitle,
    ClusterRow,
    ClusterTrend,
    FindingRow,
    MuteSeen,
    Offender,
    TrendPoint,
    fleet_score,
    score_of,
)
from kfix.fleet.model.history import AuditHistory, Episode
from kfix.fleet.model.scenarios import KINDS, ScenarioRow

DAY = date(2026, 3, 1)
BEGAN = 1_772_330_400.0

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><!--<script>",
    "\"quotes\" and 'quotes'",
    "a|b|c",
    "two\nlines\r\nthree",
    "=cmd|'/c calc'!A1",
    "@here **bold** _it_ `code` [x](http://evil.example)",
    "naïve-Ω-漢字-🦊",
    "\x1b[31mred\x1b[0m\x07",
    "\u202egnp.exe",
    "back\\slash{{ 7*7 }}{% raw %}",
    "&amp;&lt; ]]> javascript:alert(1) www.evil.example",
    "\t+1 -1 \u2028 sep",
    "x" * 300,
)

#: code, slug, severity, prevention, weight, summary, runbook
CHECKS = tuple(
    (code, slug, severity, bool(prevention), int(weight), summary, runbook)
    for code, slug, severity, prevention, weight, summary, runbook in (
        line.split("|")
        for line in """
KFX101|coordinator-stuck|critical||2|no leader, although a replica in sync lives|coordinator-stuck
KFX102|leaderless-live-isr|critical||2|partitions have no leader, an ISR member lives|coordinator-stuck
KFX103|isr-gone|critical||1|no leader, all of the ISR is dead|isr-gone
KFX201|metadata-divergence|warning||3|brokers disagree with ZooKeeper|metadata-divergence
KFX301|under-min-isr|critical||3|in sync are fewer than min.insync.replicas|
KFX302|under-replicated|warning||8|replicas are out of sync|reassign-stuck
KFX303|internal-topic-rf1|warning||3|__consumer_offsets has one replica|raise-offsets-rf
KFX401|broker-dead|critical||2|a broker is gone that replicas are on|
KFX501|stale-reassignment|warning||2|a reassignment stands since 9 days|cancel-reassignment
KFX601|rf-below-policy|warning|p|9|have fewer replicas than 3|raise-topic-rf
KFX602|min-isr-below-policy|warning|p|7|have min.insync.replicas below 2|set-min-isr
KFX603|min-isr-equals-rf|warning|p|4|stop at the first lost broker|
KFX604|unclean-election-on|warning|p|3|would lose records to an unclean election|
KFX606|racks-missing|warning|p|5|no rack is shown|
KFX608|leaders-skewed|info|p|6|broker 3 leads twice its share|preferred-leaders
KFX611|many-partitions|info|p|3|a broker has 4 812 partitions|
KFX613|end-of-life|info|p|6|Kafka 2.7.1 gets no fixes since 2022|
KFX901|source-unreadable|warning||1|ZooKeeper did not answer in 5 s|
""".strip().splitlines()
    )
)
TOPICS = ("__consumer_offsets", "orders", "payments.v2", "clickstream-raw", "audit-log", "inventory_changes", "mail")
OWNERS = ("payments", "logistics", "data platform", "web", "")


def report(
    n: int = 3, *, seed: int = 7, hostile: bool = False, days: int = 14, findings: int = 6, partitions: int = 12
):
    """`findings` and `partitions` are means, a cluster and a finding; `hostile` names come from HOSTILE."""
    dice = random.Random(seed)
    names = [_name(dice, i, hostile) for i in range(n)]
    rows: list[FindingRow] = []
    clusters = []
    for i, name in enumerate(names):
        collected = n == 1 or dice.random() > 0.04
        mine = _findings(dice, name, findings, partitions, hostile, collected)
        rows += mine
        clusters.append(_cluster(dice, name, i, mine, collected, hostile))
    clusters.sort(key=lambda c: (c.collected, -c.risk, c.cluster))
    rows.sort(key=lambda f: (f.cluster, -f.rank, f.key))
    return _report(dice, clusters, rows, days, hostile)


def _name(dice, i, hostile):
    if hostile:
        return f"{HOSTILE[i % len(HOSTILE)]}{'' if i < len(HOSTILE) else i}"
    kind = dice.choice(("orders", "payments", "telemetry", "core", "edge", "search"))
    return f"{kind}-{dice.choice(('eu-west-1', 'us-east-2', 'ap-south-1', 'onprem'))}-{i:03d}"


def _findings(dice, cluster, mean, partitions, hostile, collected):
    health = dice.random()
    count = 0 if health < 0.15 else min(len(CHECKS), max(1, round(dice.gauss(mean * (0.4 + health), mean / 3))))
    chosen = set()
    pool = [c for c in CHECKS for _ in range(c[4] * (3 if c[2] != "critical" or health > 0.7 else 1))]
    while len(chosen) < count:
        chosen.add(dice.choice(pool))
    made = [_finding(dice, cluster, check, partitions, hostile, collected) for check in sorted(chosen)]
    heads = [f for f in made if f.code in ("KFX101", "KFX401")]
    for at, row in enumerate(made):
        if heads and row.code in ("KFX102", "KFX302"):
            made[at] = replace(row, head=heads[0].key)
    return made


def _finding(dice, cluster, check, mean, hostile, collected):
    code, slug, severity, prevention, _, summary, runbook = check
    topic = dice.choice(HOSTILE if hostile else TOPICS)
    touched = tuple(f"{topic}-{n}" for n in range(max(1, round(dice.gauss(mean, mean / 3)))))
    more = dice.choice(HOSTILE if hostile else TOPICS)
    touched += tuple(f"{more}-{n}" for n in range(len(touched) // 2)) if more != topic else ()
    days = dice.choice((0, 0, 1, 3, 8, 30))
    status = "unknown" if not collected else "new" if not days else dice.choice(("still", "still", "worse", "fixed"))
    muted = prevention and dice.random() < 0.15
    said = f"{len(touched)} partitions: {summary}" + (f" {dice.choice(HOSTILE)}" if hostile else "")
    obj = touched[0] if code in ("KFX101", "KFX103") else topic
    command = f"kfix runbook apply {runbook} -p topic='{topic}' --bootstrap-server b1.example:9092" if runbook else ""
    remedy = f"Let kfix {slug.replace('-', ' ')}" if runbook else "Start the broker again, or take its replicas off it"
    evidence = [
        {
            "source": "zookeeper",
            "what": f"/brokers/topics/{topic}/partitions/0/state",
            "value": '{"leader":-1,"isr":[2]}',
            "age": 61.5,
        },
        {"source": "broker 2", "what": "metadata", "value": "leader 1, isr [1, 2], epoch 14", "age": None},
    ]
    document = {
        "key": f"{code}:{obj}",
        "cause": {"text": "the controller does not act on what ZooKeeper says", "confidence": "likely"},
        "evidence": evidence,
        "blocked": {"who": "consumers of 2 groups", "groups": ["billing", topic], "others_unknown": True},
        "remedies": [
            {"text": remedy, "command": command, "runbook": runbook},
            {"text": "Wait until the broker is back", "command": "", "runbook": ""},
        ],
        "never": ["do not edit the state znode by hand: brokers do not notice it"],
    }
    return FindingRow(
        cluster=cluster,
        key=f"{code}:{obj}",
        code=code,
        object=obj,
        severity=severity,
        rank={"info": 0, "warning": 1, "critical": 2}[severity],
        status=status,
        since=DAY - timedelta(days=days),
        days=days,
        summary=said,
        cause=document["cause"]["text"],
        confidence="likely",
        head="",
        prevention=prevention,
        unsettled=dice.random() < 0.03,
        n_partitions=len(touched),
        partitions=touched,
        blocked_groups=("billing", topic) if severity == "critical" else (),
        remedy=remedy,
        command=command,
        runbook=runbook,
        muted=muted,
        mute_reason=(dice.choice(HOSTILE) if hostile else "the owner moves it in April") if muted else "",
        document=json.dumps(document),
        reported=True,
    )


def _cluster(dice, name, i, rows, collected, hostile):
    heads = [f for f in rows if f.status in OPEN and not f.muted and not f.head]
    by = Counter(f.severity for f in heads)
    status = Counter(f.status for f in heads)
    points = 25 * by["critical"] + 6 * by["warning"] + by["info"]
    score = int(score_of(points)) if collected else -1
    weight = 1 + i % 4
    return ClusterRow(
        cluster=name,
        owner=dice.choice(HOSTILE if hostile else OWNERS),
        tags=("eu", "kafka-2.7") if i % 2 else (),
        criticality=("low", "normal", "high", "critical")[i % 4],
        collected=collected,
        why="" if collected else "10.1.2.3:9092: no answer in 10 s; is the cluster there, and may kfix reach it?",
        maintenance="rolling upgrade" if i % 17 == 5 else "",
        taken_at=BEGAN + i if collected else -1.0,
        partitions=dice.randrange(50, 12_000) if collected else 0,
        topics=dice.randrange(10, 900) if collected else 0,
        brokers=dice.choice((3, 5, 9)) if collected else 0,
        score=score,
        risk=points * weight if collected else 100 * weight,
        critical=by["critical"],
        warning=by["warning"],
        info=by["info"],
        new=status["new"],
        worse=status["worse"],
        still=status["still"],
        fixed=sum(f.status == "fixed" for f in rows),
        muted=sum(f.muted for f in rows),
        seconds=round(dice.uniform(0.2, 6), 3) if collected else 0.0,
    )


def _report(dice, clusters, rows, days, hostile):
    opened = [f for f in rows if f.status in OPEN and not f.muted]
    offenders = []
    for code in sorted({f.code for f in opened}):
        mine = [f for f in opened if f.code == code]
        worst = max(mine, key=lambda f: f.rank).severity
        partitions = sum(f.n_partitions for f in mine)
        offenders.append(Offender(code, len({f.cluster for f in mine}), len(mine), partitions, worst))
    offenders.sort(key=lambda o: (-o.clusters, o.code))
    known = [c.points for c in clusters if c.collected]
    mean = fleet_score(known)
    critical, warning = (sum(getattr(c, s) for c in clusters) for s in ("critical", "warning"))
    trend = []
    for ago in range(days, -1, -1):
        wave = 1 + dice.uniform(-0.2, 0.35) * ago / max(days, 1)
        score = mean if not ago else max(0, min(100, round(mean - 0.6 * ago + dice.uniform(-3, 3))))
        trend.append(
            TrendPoint(
                DAY - timedelta(days=ago), f"r{days - ago}", len(clusters), len(known),
                score if mean >= 0 and ago != 5 else mean if not ago else -1,
                round(critical * wave), round(warning * wave),
                dice.randrange(9) if ago else sum(c.new for c in clusters), 3,
            )
        )  # fmt: skip
    histories = tuple(
        ClusterTrend(
            c.cluster,
            tuple(t.day for t in trend),
            (*(max(0, min(100, c.score + dice.randrange(-15, 10))) for _ in trend[1:]), c.score),
        )
        for c in clusters
    )
    by_mute = sum(f.muted for f in rows)
    reason = HOSTILE[3] if hostile else "the owner moves it in April"
    mutes = (
        MuteSeen("*", "KFX60?", reason, "Ana", DAY + timedelta(days=30), False, by_mute),
        MuteSeen("edge-*", "KFX611:*", HOSTILE[0] if hostile else "old hardware", "", DAY - timedelta(days=1), True, 0),
    )
    return AuditReport(
        day=DAY,
        run=f"r{days}",
        previous_run=f"r{days - 1}" if days else "",
        previous_day=DAY - timedelta(days=1) if days else None,
        store="s3://kafka-audit/store",
        kfix="0.1.0",
        engine="local",
        clusters=tuple(clusters),
        findings=tuple(rows),
        trend=tuple(trend),
        cluster_trends=histories if days else (),
        offenders=tuple(offenders),
        checks=tuple(CheckTitle(c[0], c[1], f"{c[1].replace('-', ' ')}", c[3]) for c in CHECKS),
        mutes=mutes,
        could_not_read=tuple(f"{c.cluster}: {c.why}" for c in clusters if not c.collected),
        manifest={
            "began": BEGAN, "ended": BEGAN + 63.2, "rows": sum(c.partitions for c in clusters),
            "inputs": "inventory.yaml",
            "failed": {c.cluster: c.why for c in clusters if not c.collected},
        },
    )  # fmt: skip


QUIET = dict.fromkeys(("critical", "warning", "info", "new", "worse", "still", "fixed", "muted"), 0)


def empty():
    """The first audit of a fleet that has nothing to say."""
    made = report(3, days=0, findings=0)
    clusters = tuple(replace(c, collected=True, why="", score=100, risk=0, **QUIET) for c in made.clusters)
    point = replace(made.trend[-1], score=100, critical=0, warning=0, new=0, fixed=0)
    return replace(made, clusters=clusters, findings=(), offenders=(), mutes=(), trend=(point,), could_not_read=())


def dark():
    """A fleet of which no cluster could be read."""
    made = report(4, days=2, findings=0)
    gone = {"collected": False, "why": "connection refused", "score": -1, "risk": 100, "taken_at": -1.0, "seconds": 0.0}
    clusters = tuple(replace(c, **gone, **QUIET) for c in made.clusters)
    trend = (*made.trend[:-1], replace(made.trend[-1], score=-1, collected=0, critical=0, warning=0))
    unread = tuple(f"{c.cluster}: {c.why}" for c in clusters)
    return replace(made, clusters=clusters, findings=(), offenders=(), mutes=(), trend=trend, could_not_read=unread)


def with_future(made, *, seed=3):
    """The report with episodes and with the failures that were judged."""
    dice = random.Random(seed)
    now = datetime.fromtimestamp(BEGAN, UTC)
    began = [_episode(dice, f, now) for f in made.findings]
    rows = []
    for card in made.clusters:
        for kind in KINDS if card.collected else ():
            stops = dice.choice((0, 0, 3, 40)) * (1 + KINDS.index(kind))
            rows.append(
                ScenarioRow(
                    card.cluster, kind, {"broker": "3", "pair": "1,3", "rack": "b"}[kind], (3,), stops, 0, 0,
                    dice.choice((0, 12)), 0, 9, dice.choice((0, 0, 0, 2)), min(stops, 1 + stops // 4), 0, 0, stops // 6,
                    0, False, True, ("orders",) if stops else (),
                )
            )  # fmt: skip
    rows.sort(key=lambda r: r.rank, reverse=True)
    return replace(
        made, history=AuditHistory(made.trend[0].day, made.day, now, 11, 40, tuple(began)), scenarios=tuple(rows)
    )


def _episode(dice, row, now):
    began = now - timedelta(days=min(row.days, 10) or dice.randrange(1, 9) * (row.status == "fixed"))
    ended = now - timedelta(days=0) if row.status == "fixed" else None
    state = "ended" if ended else "unknown" if row.status == "unknown" else "open"
    return Episode(
        row.cluster, row.key, row.code, "", "2.7", row.severity, row.rank, row.prevention, row.muted, began, None, now,
        ended, state, 1 + row.days, 0, row.n_partitions, row.n_partitions, 0,
    )  # fmt: skip
