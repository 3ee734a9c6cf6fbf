"""No content of `fleet.yaml` gives a traceback: it is read, or each mistake is reported."""

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kfix.core.errors import InvalidFileError
from kfix.core.inventory.load import parse_inventory
from tests.unit.core.inventory.test_load import HEAD

_WORDS = ["h:1", "10s", "2026-01-01", "2026-01-01T00:00Z", "22:00", "KFX601", "a", "mon", "low", "c.properties", "3"]
_FIELDS = """defaults clusters mutes bootstrap zookeeper command_config owner tags criticality expected rf min_isr
timeout windows why start end weekdays at for findings reason until by a b"""
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(_WORDS))
_KEYS = st.one_of(st.text(max_size=6), st.sampled_from([*_FIELDS.split()]))
_ANY = st.recursive(_SCALARS, lambda x: st.lists(x, max_size=3) | st.dictionaries(_KEYS, x, max_size=5), max_leaves=25)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(_KEYS, _ANY, max_size=5), st.lists(_ANY, max_size=2), st.dictionaries(_KEYS, _ANY, max_size=6))
def test_no_yaml_at_all_gives_a_traceback(tmp_path, top, mutes, cluster):
    data = {"apiVersion": "kfix/v1", "kind": "Fleet", "clusters": {"a": cluster}, "mutes": mutes, **top}
    said(yaml.safe_dump(data), tmp_path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.sampled_from("ab:{}[]-#&*!|>'\"\\\n \t0129.,%@`~?kFX\0ud8é"), max_size=60))
def test_no_text_at_all_gives_a_traceback(tmp_path, text):
    said(f"{HEAD}clusters:\n  {text}", tmp_path)


def said(text, folder):
    try:
        parse_inventory(text, "f", folder)
    except InvalidFileError as error:
        problems = error.problems
    else:
        return
    assert problems
    assert all(line.startswith("f:") for line in problems)
