"""A leader over a store in memory, and what is asked of it in its tests."""

from scheduler.broker.leader_settings import LeaderSettings
from scheduler.messages import Delivery, FinishRequest
from scheduler.state.events import WriteKind
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.plan import Plan
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import make_evaluation
from tests.simulation.world import TYPES, World

E = make_evaluation()


def make_world(*evaluations: Evaluation, **settings: float) -> World:
    world = World(settings=LeaderSettings(**settings))
    if evaluations:
        world.put_evaluations(*evaluations)
    return world


def dequeue(world: World, process: str = "w", limit: int = 1) -> tuple[Delivery, ...]:
    return world.leader.dequeue(process, TYPES, limit, world.moment)


def take_one(world: World, process: str = "w") -> Delivery:
    (delivery,) = dequeue(world, process)
    return delivery


def complete(delivery: Delivery, **fields: object) -> FinishRequest:
    done = delivery.evaluation.changed(status=EvalStatus.COMPLETE, **fields)
    return FinishRequest(eval_id=done.id, token=delivery.token, update=done)


def nack(world: World, delivery: Delivery, reason: str = "broke") -> None:
    world.finish(
        "w",
        FinishRequest(
            eval_id=delivery.evaluation.id, token=delivery.token, ack=False, error=reason
        ),
    )


def submitted(world: World, **fields: object) -> Plan:
    """The plan that a delivery's holder handed in."""
    token = take_one(world).token
    plan = Plan(**({"id": "p", "job_id": "web", "eval_id": E.id, "eval_token": token} | fields))
    world.leader.submit_plan("w", plan, plan.size, world.moment)
    return plan


def pause_broker(world: World, *, paused: bool) -> bool:
    """Switch it in the record; whether the leader wanted to begin anew from there."""
    settings = SchedulerSettings(pause_eval_broker=paused)
    world.store.write(
        WriteKind.SCHEDULER_SETTINGS_UPDATED,
        lambda change: change.put(SCHEDULER_SETTINGS, settings),
        now=world.clock.now(),
    )
    for frame in world.store.frames_since(world.leader.index):
        world.leader.observe(frame, world.moment)
    wants_restore = world.leader.wants_restore
    world.follow()
    return wants_restore
