"""Root causes first."""

from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Severity
from kfix_diagnostics.folding import fold


def finding(key: str, severity: Severity = Severity.WARNING, *follows: str) -> Finding:
    code, obj = key.split(":")
    return Finding(obj, "x", Cause("x", Confidence.CERTAIN), severity, code, follows=follows)


def test_what_follows_is_folded_and_carries_its_severity_up() -> None:
    [head] = fold([finding("KFX401:broker 3"), finding("KFX104:x", Severity.CRITICAL, "KFX401:broker 3")])
    assert head.code == "KFX401"
    assert head.severity is Severity.WARNING
    assert head.worst is Severity.CRITICAL


def test_of_two_findings_with_one_key_none_is_dropped() -> None:
    same = [finding("KFX106:x", Severity.CRITICAL), finding("KFX106:x", Severity.WARNING)]
    assert [f.severity for f in fold(same)] == [Severity.CRITICAL, Severity.WARNING]
    assert [f.severity for f in fold(same[::-1])] == [Severity.CRITICAL, Severity.WARNING]


def test_a_finding_that_names_none_of_the_others_is_a_head() -> None:
    assert [f.key for f in fold([finding("KFX104:x", Severity.CRITICAL, "KFX401:broker 9")])] == ["KFX104:x"]


def test_the_first_cause_that_was_found_takes_it() -> None:
    found = fold([finding("KFX403:b"), finding("KFX203:b", Severity.INFO, "KFX401:a", "KFX403:b")])
    assert [[c.key for c in f.folded] for f in found] == [["KFX203:b"]]


def test_causes_may_have_causes() -> None:
    found = fold([finding("A:1"), finding("B:1", Severity.INFO, "A:1"), finding("C:1", Severity.CRITICAL, "B:1")])
    assert [f.key for f in found[0].walk()] == ["A:1", "B:1", "C:1"]
    assert found[0].worst is Severity.CRITICAL


def test_findings_that_blame_each_other_are_both_reported() -> None:
    pair = [finding("A:1", Severity.INFO, "B:1"), finding("B:1", Severity.INFO, "A:1")]
    found = fold([*pair, finding("C:1", Severity.INFO, "A:1")])
    assert sorted(f.key for head in found for f in head.walk()) == ["A:1", "B:1", "C:1"]


def test_the_worst_head_comes_first_then_the_lower_code() -> None:
    found = fold([finding("B:2"), finding("A:9"), finding("C:1", Severity.CRITICAL), finding("A:1")])
    assert [f.key for f in found] == ["C:1", "A:1", "A:9", "B:2"]
