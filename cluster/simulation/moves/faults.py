"""What befalls nodes, processes and messages."""

from cluster.simulation.moves.deed import Deeds, Scene, pick
from cluster.simulation.weather import WEATHERS

SECOND = 1_000_000_000
DEEDS = Deeds()


@DEEDS.add(3, is_fault=True)
def _fall_silent(scene: Scene, first: int, second: int) -> str:
    client = scene.client(first)
    client.go(online=False)
    return f"{client.node.name} falls silent"


@DEEDS.add(5, is_fault=True)
def _come_back(scene: Scene, first: int, second: int) -> str:
    client = pick([each for each in scene.cluster.clients if not each.is_online], first)
    client.go(online=True)
    return f"{client.node.name} is back"


@DEEDS.add(1, is_fault=True)
def _restart_agent(scene: Scene, first: int, second: int) -> str:
    client = scene.client(first)
    client.restart()
    return f"the agent of {client.node.name} starts again"


@DEEDS.add(3, is_fault=True)
def _fail_one(scene: Scene, first: int, second: int) -> str:
    alloc = scene.running(first)
    for client in scene.cluster.clients:
        client.fail(alloc.id, scene.now)
    return f"allocation {alloc.name} ({alloc.id[-4:]}) fails on {alloc.node_name}"


@DEEDS.add(2, is_fault=True)
def _change_weather(scene: Scene, first: int, second: int) -> str:
    name = pick(tuple(WEATHERS), first)
    post = scene.cluster.post
    post.weather, post.rounds_left = WEATHERS[name], 3 + second % 10
    return f"for {post.rounds_left} rounds {name}"


@DEEDS.add(2, is_fault=True)
def _kill_worker(scene: Scene, first: int, second: int) -> str:
    cluster = scene.cluster
    place = first % len(cluster.workers)
    gone, cluster.workers[place] = cluster.workers[place], cluster.new_worker()
    return f"{gone.name} dies"


@DEEDS.add(1.5, is_fault=True)
def _kill_leader(scene: Scene, first: int, second: int) -> str:
    away = scene.cluster.away
    away.leader, away.leader_sleeps = 1 + second % 4, False
    return f"the leader dies; the next begins after {away.leader} rounds"


@DEEDS.add(1, is_fault=True)
def _suspend_leader(scene: Scene, first: int, second: int) -> str:
    away = scene.cluster.away
    away.leader, away.leader_sleeps = 1 + second % 6, True
    return f"the leader sleeps for {away.leader} rounds"


@DEEDS.add(2, is_fault=True)
def _kill_applier(scene: Scene, first: int, second: int) -> str:
    cluster = scene.cluster
    has_judged = bool(cluster.taken) and first % 2 == 0
    if has_judged:
        cluster.plane.judge(cluster.taken)
    cluster.taken = ()
    cluster.away.applier = second % 3
    return f"the applier dies{', before it told what it committed' if has_judged else ''}"


@DEEDS.add(0.5, is_fault=True)
def _silence_listeners(scene: Scene, first: int, second: int) -> str:
    scene.cluster.away.listeners = 2 + second % 15
    return f"nobody hears the nodes for {scene.cluster.away.listeners} rounds"
