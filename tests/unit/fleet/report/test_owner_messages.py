"""One message an owner: only their clusters, and none without news."""

from dataclasses import replace

from kfix.fleet.report.markdown import MOST
from kfix.fleet.report.owner_messages import message_name, of_owner, owner_messages, write_messages
from tests.unit.fleet.report.reports import HOSTILE, empty, report


def test_a_message_has_only_the_clusters_of_its_owner():
    given = report(40)
    found = owner_messages(given)
    assert set(found) == {"payments.md", "logistics.md", "data platform.md", "web.md", "without-owner.md"}
    for owner in ("payments", "web"):
        text = found[f"{owner}.md"]
        assert 0 < len(text) <= MOST
        others = {c.cluster for c in given.clusters if c.owner != owner}
        assert not [name for name in others if name in text]
    mine = of_owner(given, "web")
    assert {c.owner for c in mine.clusters} == {"web"}
    assert {f.cluster for f in mine.findings} <= {c.cluster for c in mine.clusters}


def test_an_owner_without_news_has_no_message_and_an_old_one_goes(tmp_path):
    old = tmp_path / message_name(empty().clusters[0].owner)
    old.write_text("of yesterday")
    (tmp_path / "mine.md").write_text("foreign")
    write_messages(empty(), str(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["mine.md"]
    write_messages(report(40), str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 6


def test_no_name_of_an_owner_leaves_the_folder(tmp_path):
    odd = ("", "without-owner", "../../x", "/etc/passwd", ".", "..", ".hidden", *HOSTILE, "y" * 400, "y" * 401)
    base = report(1).clusters[0]
    given = report(1)
    clusters = tuple(replace(base, cluster=f"c{n}", owner=owner) for n, owner in enumerate(odd))
    rows = tuple(replace(given.findings[0], cluster=c.cluster, status="new", muted=False) for c in clusters)
    write_messages(
        replace(given, clusters=tuple(replace(c, maintenance="") for c in clusters), findings=rows), str(tmp_path)
    )
    assert not [p for p in tmp_path.rglob("*") if p.parent != tmp_path]
    assert len(list(tmp_path.iterdir())) == len(odd)
