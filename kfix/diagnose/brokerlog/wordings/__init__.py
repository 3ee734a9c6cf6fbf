"""All supported log messages, one module per subject. Written by hand; a test compares it with the folder."""

from kfix.diagnose.brokerlog.wording import Wording
from kfix.diagnose.brokerlog.wordings import controller, lifecycle, replicas, state_changes

ALL: tuple[Wording, ...] = (
    *controller.WORDINGS,
    *state_changes.WORDINGS,
    *replicas.WORDINGS,
    *lifecycle.WORDINGS,
)
