"""Host volumes made on demand: who may have which, by what is stored and what is proposed."""

import pytest

from scheduler.structs.allocation import ClientStatus
from scheduler.structs.host_volume import (
    DynamicVolume,
    VolumeCapability,
    VolumeClaim,
    VolumeState,
)
from scheduler.structs.node import HostVolume
from scheduler.structs.task_group import VolumeAsk
from tests.builders import make_allocation
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node

IDS = tuple(f"aaaaaaaa-0000-0000-0000-00000000000{n}" for n in range(1, 4))
READER, WRITER = "single-node-reader-only", "single-node-writer"
SINGLE, MULTI = "single-node-single-writer", "single-node-multi-writer"


def uses(*modes, attachment="file-system"):
    return tuple(VolumeCapability(attachment_mode=attachment, access_mode=mode) for mode in modes)


ALL = uses(READER, WRITER, SINGLE, MULTI)


def node(number, *, made=True):
    volume = HostVolume(name="data", id=IDS[number - 1] if made else "")
    return plain_node(number, host_volumes={"data": volume})


def made(number, **fields):
    given = {
        "id": IDS[number - 1],
        "namespace": "default",
        "name": "data",
        "node_id": node(number).id,
        "state": VolumeState.READY,
        "requested_capabilities": ALL,
    }
    return DynamicVolume(**(given | fields))


def asking(count=1, **ask):
    volume = VolumeAsk(name="v", type="host", source="data", **ask)
    return job_of(group_of(count=count, volumes={"v": volume}))


@pytest.mark.parametrize(
    ("volume", "ask", "fits"),
    [
        pytest.param({}, {}, True, id="T28-ready"),
        pytest.param({"state": VolumeState.PENDING}, {}, False, id="T28-pending"),
        pytest.param({"state": VolumeState.UNAVAILABLE}, {}, False, id="T28-unavailable"),
        pytest.param({"namespace": "team"}, {}, False, id="T28-of-another-namespace"),
        pytest.param({"requested_capabilities": uses(READER)}, {}, False, id="T28-readers-only"),
        pytest.param(
            {"requested_capabilities": uses(READER)},
            {"read_only": True},
            True,
            id="T28-default-of-a-reader",
        ),
        pytest.param(
            {"requested_capabilities": uses(WRITER)},
            {"read_only": True},
            False,
            id="T28-default-of-a-reader-is-not-there",
        ),
        pytest.param(
            {"requested_capabilities": uses(WRITER, attachment="block-device")},
            {},
            False,
            id="T28-other-attachment",
        ),
        pytest.param({}, {"access_mode": MULTI}, True, id="T28-several-writers"),
        pytest.param({}, {"access_mode": WRITER, "read_only": True}, False, id="T28-no-writer"),
        pytest.param({}, {"access_mode": READER}, False, id="T28-a-writer-as-reader"),
    ],
)
def test_a_made_volume_serves_who_asks_for_it_as_it_is(volume, ask, fits):
    scene = Scene([node(1)], asking(**ask), volumes=(made(1, **volume),))
    assert (scene.select() is not None) is fits
    if not fits:
        filtered = scene.context.metrics.constraint_filtered
        assert filtered == {"missing compatible host volumes": 1}


def test_t28_a_single_writer_is_alone_in_one_plan_too():
    job = asking(2, access_mode=SINGLE)
    scene = Scene([node(1), node(2)], job, volumes=(made(1), made(2)))

    first, second = scene.place(), scene.place()

    assert {first.node.id, second.node.id} == {node(1).id, node(2).id}
    assert scene.select() is None
    assert scene.context.metrics.constraint_filtered == {"missing compatible host volumes": 2}


@pytest.mark.parametrize(
    ("ask", "is_free"),
    [
        pytest.param({"read_only": True}, True, id="T28-readers-do-not-block"),
        pytest.param({}, False, id="T28-a-writer-blocks"),
    ],
)
def test_a_single_writer_minds_only_who_writes(ask, is_free):
    other = asking(**ask).__class__(
        **{
            name: getattr(asking(**ask), name)
            for name in asking(**ask).__struct_fields__
            if name != "id"
        },
        id="other",
    )
    running = make_allocation(other, node_id=node(1).id, client_status=ClientStatus.RUNNING)
    scene = Scene(
        [node(1)], asking(access_mode=SINGLE), [running], others=[other], volumes=(made(1),)
    )
    assert (scene.select() is not None) is is_free


def claimed(alloc, number):
    return VolumeClaim(
        id=f"c{number}",
        namespace="default",
        job_id=alloc.job_id,
        task_group_name=alloc.task_group,
        alloc_id=alloc.id,
        volume_id=IDS[number - 1],
        volume_name="data",
    )


def test_t29_without_claims_any_volume_of_the_name_serves():
    scene = Scene([node(1)], asking(sticky=True), volumes=(made(1),))
    assert scene.select() is not None


def test_t29_a_replacement_gets_the_volume_that_waits_for_it():
    job = asking(sticky=True)
    ended = make_allocation(job, node_id=node(2).id, client_status=ClientStatus.FAILED)
    rows = {"volumes": (made(1), made(2)), "claims": (claimed(ended, 2),)}
    for nodes in ([node(1), node(2)], [node(2), node(1)]):
        scene = Scene(nodes, job, [ended], **rows)
        assert scene.select().node.id == node(2).id

    lonely = Scene([node(1)], job, [ended], **rows)
    assert lonely.select() is None
    assert lonely.context.metrics.constraint_filtered == {"missing compatible host volumes": 1}


def test_t29_a_claim_that_a_sibling_meets_waits_for_nobody():
    job = asking(2, sticky=True)
    running = make_allocation(job, node_id=node(2).id, client_status=ClientStatus.RUNNING)
    scene = Scene(
        [node(1), node(2)],
        job,
        [running],
        volumes=(made(1), made(2)),
        claims=(claimed(running, 2),),
    )
    assert scene.place() is not None


def test_t29_claims_of_allocations_that_are_gone_say_nothing():
    job = asking(sticky=True)
    gone = make_allocation(job, node_id=node(2).id)
    scene = Scene([node(1)], job, volumes=(made(1),), claims=(claimed(gone, 2),))
    assert scene.select() is not None


def test_sticking_to_a_static_volume_is_not_possible():
    scene = Scene([node(1, made=False)], asking(sticky=True))
    assert scene.select() is None
