"""Which nodes joined, and who tried to, is in the audit; what agents report all day is not."""

from cluster.agent.protocol import Beat
from cluster.store.audit import AuditFilter, read_audit
from tests.cluster.agent.callers import JOIN_TOKEN, AgentCaller

PARTS = ("who_kind", "door", "act", "target_id", "result", "reason")


async def rows(store):
    def read():
        store.audit.flush()
        return read_audit(store, AuditFilter(), limit=100).rows[::-1]

    return await store.acall(read)


async def told(store):
    return [tuple(getattr(row, part) for part in PARTS) for row in await rows(store)]


async def test_a_node_that_joins_is_told_once(store):
    agent = AgentCaller(1)
    await agent.join()
    await agent.register()
    await agent.call("POST", "beat", Beat(status="ready"))
    node = agent.node
    assert await told(store) == [("agent", "agent", "join", node.id, "done", f"as {node.name}")]


async def test_a_node_without_a_good_join_token_is_told(store):
    agent = AgentCaller(1)
    for _ in range(3):
        assert (await agent.register(join_token="wrong-join-token")).status == 403
    reason = "a node's first registration needs a valid join token"
    assert await told(store) == [("nobody", "agent", "join", agent.node.id, "refused", reason)]
    assert [row.count for row in await rows(store)] == [3]


async def test_who_speaks_for_a_node_without_its_secret_is_told(store):
    agent = AgentCaller(1)
    await agent.join()
    thief = AgentCaller(1, secret="another-secret")
    assert (await thief.call("POST", "beat", Beat())).status == 403
    reason = "node secret ID does not match"
    act = ("report as node", agent.node.id, "refused", reason)
    assert (await told(store))[-1] == ("nobody", "agent", *act)


async def test_no_secret_of_a_node_is_kept(store):
    agent = AgentCaller(1, secret="the-secret-of-a-node")
    await agent.register(join_token="wrong-join-token")
    await agent.register()
    await agent.call("POST", "beat", Beat(), node_id="the-secret-of-a-node")
    await agent.call("POST", "beat", Beat(), node_id=JOIN_TOKEN)
    text = str(await rows(store))
    for secret in ("the-secret-of-a-node", "wrong-join-token", JOIN_TOKEN):
        assert secret not in text
