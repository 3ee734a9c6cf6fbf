"""All supported log messages, one module per subject. Written by hand; a test compares it with the folder."""

from kfix.diagnose.brokerlog.wording import Wording
from kfix.diagnose.brokerlog.wordings import controller, kraft, lifecycle, replicas, state_changes

ALL: tuple[Wording, ...] = (
    *controller.WORDINGS,
    *controller.DELETIONS,
    *controller.REGISTRATIONS,
    *state_changes.WORDINGS,
    *replicas.WORDINGS,
    *replicas.TRUNCATIONS,
    *lifecycle.SESSIONS,
    *lifecycle.WORDINGS,
    *kraft.WORDINGS,
)
