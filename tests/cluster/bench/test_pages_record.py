"""The record of `bench pages` at a small scale: a lost node makes as many evaluations."""

from cluster.bench.pages_record import OF_A_NODE, fill_pages
from cluster.bench.rehearse_record import OF_A_JOB
from tests.process_store import store

__all__ = ["store"]


def test_each_lost_node_had_allocations_of_as_many_jobs_as_at_full_size(store):
    fill_pages(2 * OF_A_JOB, 3, 2)
    (loss,) = (story for story in store.read(lambda r: r.running_stories()) if story)
    faces = store.read(lambda r: r.story_faces(loss))
    assert len(faces) == 3 * OF_A_NODE
    assert len({face.job_id for face in faces}) == 2 * OF_A_NODE
