"""Whatever a name holds, no format breaks, and what was said can be read back."""

import csv
import io
import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from prometheus_client.parser import text_string_to_metric_families

from kfix.core.harmless import is_dangerous, one_line
from kfix.fleet.history.figures import repair_times
from kfix.fleet.model.history import AuditHistory, ChurnRate, Flapping, GrowthForecast, RepeatOffender
from kfix.fleet.report.console import audit_text
from kfix.fleet.report.csv_audit import audit_csv
from kfix.fleet.report.history import history_lines
from kfix.fleet.report.history_rows import history_csv, history_json
from kfix.fleet.report.json_audit import audit_json
from kfix.fleet.report.markdown import MOST, audit_markdown
from kfix.fleet.report.prometheus import audit_metrics
from kfix.front.lines import lines_text
from kfix.incident.report.facts import incident_json
from kfix.incident.report.markdown import incident_markdown, summary_text
from kfix.incident.report.page import render_incident
from tests.unit.fleet.history.test_figures import episode
from tests.unit.fleet.report.reports import DAY, report
from tests.unit.fleet.report.test_texts import FORBIDDEN
from tests.unit.incident.report import reports

BASE = report(1, days=1)
SPICY = st.text(st.sampled_from(list("\\`*_[]()<>!|~#&@:/\"'=+-\t\r\n\0 .a1{}é漢\u202e\u2028\x85\ud800")), max_size=40)
TEXT = st.one_of(SPICY, st.text(max_size=40), st.sampled_from(["http://a.b", "<!-- -->", "![x](y)", "www.a.b", "---"]))


def named(text):
    cluster = replace(BASE.clusters[0], cluster=text, owner=text, why=text, collected=False)
    finding = replace(
        BASE.findings[0], cluster=text, object=text, summary=text, remedy=text, command=text, muted=False, status="new",
        head="", mute_reason=text, key=f"KFX1:{text}", partitions=(text,), blocked_groups=(text,),
    )  # fmt: skip
    mute = replace(BASE.mutes[0], reason=text, by=text, clusters=text)
    return replace(BASE, clusters=(cluster,), findings=(finding,), mutes=(mute,), could_not_read=(text,))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT)
def test_no_name_breaks_a_format(text):
    made = named(text)
    assert json.loads(audit_json(made))["clusters"][0]["cluster"] == text
    rows = list(csv.DictReader(io.StringIO(audit_csv(made), newline=""), strict=True))
    assert len(rows) == 1
    assert rows[0]["summary"].removeprefix("'") == one_line(text).removeprefix("'")
    families = {f.name: f for f in text_string_to_metric_families(audit_metrics(made))}
    assert families["kfix_audit_cluster_collected"].samples[0].value == 0
    assert len(families["kfix_audit_cluster_collected"].samples) == 1
    message = audit_markdown(made)
    assert len(message) <= MOST
    for token in MarkdownIt("commonmark").parse(message):
        assert token.type not in FORBIDDEN
        assert not {t.type for t in token.children or ()} & FORBIDDEN
    assert not any(map(is_dangerous, audit_text(made)))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT)
def test_no_name_breaks_a_history(text):
    found = [episode(0, None, cluster=text, owner=text, key=f"KFX1:{text}"), episode(0, 2, cluster=text, version=text)]
    made = AuditHistory(
        first=DAY,
        last=DAY,
        audits=2,
        clusters=1,
        episodes=tuple(found),
        repair_times=repair_times(found),
        flapping=(Flapping("group", text, text, 9, 3, 1.0, "state 9", DAY),),
        offenders=(RepeatOffender("topic", text, text, 2, 3), RepeatOffender("owner", "", text, 2, 3)),
        churn=(ChurnRate(text, text, 2.0, 3, 1.0, 0.0, 0.0, 0.0),),
        growth=(GrowthForecast(text, text, "skew", 120, 1.0, 0.5, 2.0, 9, 9.0),),
        unread=(text,),
        left=(text,),
        incomplete=(text,),
    )
    shown = lines_text(history_lines(made), 80)
    assert not any(map(is_dangerous, shown))
    assert shown.count("\nopen:\n") == shown.count("\nchanges a day:\n") == 1
    assert json.loads(history_json(made))["episodes"][0]["cluster"] == text
    rows = list(csv.DictReader(io.StringIO(history_csv(made), newline=""), strict=True))
    assert [r["state"] for r in rows] == ["open", "ended"]
    assert rows[0]["owner"].removeprefix("'") == one_line(text).removeprefix("'")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT)
def test_any_text_leaves_every_format_of_an_incident_whole(text):
    incident = replace(reports.single(), title=text, cluster=text, questions=(text,))
    assert json.loads(incident_json(incident))["title"] == text
    assert render_incident(incident).count("<h1>") == 1
    headings = [line for line in incident_markdown(incident).splitlines() if line.startswith("#")]
    assert len(headings) == len([line for line in incident_markdown(reports.single()).splitlines() if line[:1] == "#"])
    assert "\x1b" not in summary_text(incident)
