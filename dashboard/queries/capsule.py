"""The capsule of an evaluation, as a file to take along."""

from collections.abc import Mapping

import msgspec

from cluster.operations.errors import NotFound
from cluster.operations.past_capsules import capsule_of
from cluster.store.ports import RecordReader
from dashboard.rights import WHOLE_RECORD
from dashboard.viewer import Absent, Viewer


def capsule_file(reader: RecordReader, viewer: Viewer, *, eval_id: str) -> Mapping[str, bytes]:
    """The document as `json`. Raises Absent where there is none, or it is not all for the viewer.

    A capsule holds every node and all work on them, so the address asks for the right to see both.
    """
    evaluation = reader.evaluation(eval_id)
    if evaluation is None or not WHOLE_RECORD.holds(viewer.access):
        raise Absent
    try:
        return {"json": msgspec.json.encode(capsule_of(reader, evaluation))}
    except NotFound:
        raise Absent from None
