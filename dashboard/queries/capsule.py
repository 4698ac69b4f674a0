"""The capsule of an evaluation, as a file to take along."""

import msgspec

from cluster.operations.errors import NotFound
from cluster.operations.past_capsules import capsule_of
from cluster.store.reader import DjangoStateReader
from dashboard.viewer import Viewer


def capsule_file(reader: DjangoStateReader, viewer: Viewer, *, eval_id: str) -> bytes | None:
    """The document as JSON; None where there is none, or where a viewer may not see all of it.

    A capsule holds every node and all work on them, so it is for those who see every namespace.
    """
    evaluation = reader.evaluation(eval_id)
    if evaluation is None or viewer.namespaces is not None:
        return None
    try:
        return msgspec.json.encode(capsule_of(reader, evaluation))
    except NotFound:
        return None
