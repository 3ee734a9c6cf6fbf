"""Any cluster on paper, for hypothesis: consistent or not, sick or healthy."""

from hypothesis import strategies as st

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import Mode, TopicPartition
from tests.unit.diagnostics.build import Paper, Part
from tests.unit.diagnostics.prevention import GOOD

SETTINGS = sorted({*GOOD, "message.max.bytes"})
VALUES = ["", "-1", "0", "1", "2", "3", "true", "false", "2.7-IV2", "3.9", "18000", "nonsense"]
IDS = st.integers(1, 5)
SOME = st.lists(IDS, max_size=4, unique=True).map(tuple)
BELIEVED = st.tuples(st.integers(-1, 5), st.integers(0, 3), SOME)
PARTS = st.builds(
    Part,
    replicas=SOME,
    leader=st.integers(-2, 5),
    isr=SOME,
    epoch=st.integers(0, 3),
    age=st.sampled_from([-5.0, 1.0, 60.0, 9000.0]),
    adding=st.lists(IDS, max_size=1).map(tuple),
    believed=st.none() | BELIEVED,
    seen_by=st.dictionaries(IDS, st.none() | BELIEVED, max_size=2),
)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    paper = Paper(range(1, 6), draw(st.dictionaries(IDS, st.sampled_from("ab"))))
    for topic in ("t", OFFSETS_TOPIC, "__transaction_state"):
        for p, part in enumerate(draw(st.lists(PARTS, max_size=3))):
            paper.parts[TopicPartition(topic, p)] = part
    paper.registered = draw(st.dictionaries(IDS, st.sampled_from([-9.0, 1.0, 300.0, 1e6])))
    paper.answering = draw(st.sets(IDS))
    paper.silent = draw(st.dictionaries(IDS, st.just("timed out")))
    paper.controller = draw(st.none() | IDS)
    paper.named_controller = draw(st.dictionaries(IDS, st.integers(-1, 5)))
    paper.zookeeper = draw(st.booleans())
    paper.mode = draw(st.sampled_from(Mode))
    paper.min_isr = draw(st.integers(1, 3))
    paper.groups = draw(st.sampled_from([(), ("g2",), ("g2", "pay")]))
    paper.broken_groups = draw(
        st.dictionaries(st.just("g2"), st.sampled_from([(15, None), (0, 14), (0, -1), (30, None)]))
    )
    paper.deleting = draw(st.sampled_from([frozenset[str](), frozenset({"t"})]))
    paper.remembered_brokers = draw(st.dictionaries(IDS, st.sampled_from(["localhost:9091", "localhost:9095"])))
    settings_of = st.dictionaries(st.sampled_from(SETTINGS), st.sampled_from(VALUES), max_size=6)
    paper.broker_settings = draw(st.dictionaries(IDS, settings_of, max_size=3))
    paper.topic_settings = draw(st.just({}) | st.fixed_dictionaries({"t": settings_of}))
    paper.log_ends = draw(st.just({}) | st.just({TopicPartition("t", 0): {1: 5, 2: 9}}))
    return paper
