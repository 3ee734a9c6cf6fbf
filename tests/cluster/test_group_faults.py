"""Faults that only a reading of one group, or of its offsets partition, shows; on real brokers."""

from tests.cluster.test_group_incidents import states_of


def test_a_transaction_that_holds_the_last_stable_offset_is_named_once_it_is_not_short_any_more(kfix, lab):
    broken = lab.break_("open-transaction")
    asked = ("diagnose", "--json", "--debounce", "1", "--group", broken.group)
    young = kfix.on(*asked)
    assert (young.code, young.json["findings"]) == (22, [])
    assert states_of(young)["last stable offset"] == "in doubt"
    story = kfix.on(*asked, "--transaction-grace", "0")
    assert (story.code, [f["code"] for f in story.json["findings"]]) == (21, ["KFX116"])
    [found] = story.json["findings"]
    assert broken.details["transactional_id"] in found["summary"]
    assert found["facts"]["transactional_id"] == broken.details["transactional_id"]
    assert states_of(story)["last stable offset"] == "fails"


def test_an_offsets_partition_that_no_cleaner_compacts_is_a_latent_risk_only(kfix, lab):
    broken = lab.break_("offsets-uncompacted")
    [(topic, number)] = broken.partitions
    assert kfix.diagnose("--debounce", "0").code == 0
    said = kfix.diagnose("--debounce", "0", "--prevention", "--only", "KFX115")
    found = said.findings["KFX115"]
    assert (said.code, found["partitions"]) == (20, [f"{topic}-{number}"])
    assert "log.cleaner.enable is false" in found["cause"]["text"]
