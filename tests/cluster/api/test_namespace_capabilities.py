"""What jobs of a namespace may use: kept, told, and asked for when one registers."""

import pytest

from tests.cluster.api.clients import document

ALLOWED = {
    "EnabledTaskDrivers": None,
    "DisabledTaskDrivers": ["raw_exec", "mock_driver"],
    "EnabledNetworkModes": ["bridge"],
    "DisabledNetworkModes": None,
}


async def test_capabilities_are_kept_as_given(api):
    await api.put("/v1/namespace", {"Name": "team", "Capabilities": ALLOWED})
    await api.put("/v1/namespace", {"Name": "free"})

    assert (await api.get("/v1/namespace/team")).json["Capabilities"] == ALLOWED
    assert (await api.get("/v1/namespace/free")).json["Capabilities"] is None
    hashes = {row["Hash"] for row in (await api.get("/v1/namespaces")).json}
    assert len(hashes) == 3


def group(name, driver, *modes):
    task = {"Name": "main", "Driver": driver}
    return {"Name": name, "Networks": [{"Mode": mode} for mode in modes], "Tasks": [task]}


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        pytest.param(
            [group("a", "raw_exec", "host"), group("b", "exec")],
            'used task driver "raw_exec" is not allowed in namespace "team"',
            id="A7a one",
        ),
        pytest.param(
            [group("a", "raw_exec"), group("b", "raw_exec")],
            'used task drivers ["raw_exec" "raw_exec"] are not allowed in namespace "team"',
            id="A7a several",
        ),
        pytest.param(
            [group("a", "exec", "")],
            'used group network mode "host" is not allowed in namespace "team"',
            id="A7b one",
        ),
        pytest.param(
            [group("a", "exec", "host"), group("b", "exec", "none")],
            'used group network modes ["host" "none"] are not allowed in namespace "team"',
            id="A7b several",
        ),
        pytest.param([group("a", "exec", "bridge"), group("b", "exec")], "", id="allowed"),
    ],
)
async def test_a_job_that_uses_what_its_namespace_forbids_is_refused(api, groups, text):
    await api.put("/v1/namespace", {"Name": "team", "Capabilities": ALLOWED})

    answer = await api.put("/v1/jobs", {"Job": document(Namespace="team", TaskGroups=groups)})

    if text:
        assert (answer.status, answer.text) == (400, f"1 error occurred:\n\t* {text}\n\n")
    else:
        assert answer.status == 200, answer.text


@pytest.mark.parametrize(
    "given",
    [
        None,
        {"Default": "gpu", "Allowed": ["g*"], "Denied": None},
        {"Default": "", "Allowed": [], "Denied": None},
        {"Default": "", "Allowed": None, "Denied": ["gpu"]},
    ],
)
async def test_rules_of_pools_are_kept_as_given(api, given):
    await api.put("/v1/namespace", {"Name": "team", "NodePoolConfiguration": given})
    await api.put("/v1/namespace", {"Name": "free"})

    assert (await api.get("/v1/namespace/team")).json["NodePoolConfiguration"] == given


async def test_a_job_of_the_api_that_names_no_pool_goes_where_its_namespace_says(api):
    await api.put("/v1/node/pools", {"Name": "gpu"})
    own = {"Default": "gpu", "Denied": ["default"]}
    await api.put("/v1/namespace", {"Name": "team", "NodePoolConfiguration": own})

    taken = await api.put("/v1/jobs", {"Job": document(Namespace="team")})
    refused = await api.put("/v1/jobs", {"Job": document(Namespace="team", NodePool="default")})

    assert taken.status == 200
    assert (await api.get("/v1/job/web?namespace=team")).json["NodePool"] == "gpu"
    assert refused.status == 400
    assert refused.text == (
        '1 error occurred:\n\t* job "web" is not allowed to use node pool "default"'
        ' in namespace "team"\n\n'
    )


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        (
            {"NodePoolConfiguration": {"Allowed": ["a"], "Denied": ["b"]}},
            ["invalid node pool configuration: allowed and denied node pools exclude each other."],
        ),
        (
            {"VaultConfiguration": {}, "ConsulConfiguration": {"Default": "x"}},
            [
                "invalid vault configuration: Multi-Cluster Vault is unlicensed.",
                "invalid consul configuration: Multi-Cluster Consul is unlicensed.",
            ],
        ),
    ],
)
async def test_what_a_namespace_cannot_say_is_refused_by_name(api, fields, lines):
    answer = await api.put("/v1/namespace", {"Name": "team"} | fields)
    head = "1 error occurred:" if len(lines) == 1 else f"{len(lines)} errors occurred:"
    told = "".join(f"\n\t* {line}" for line in lines)
    assert (answer.status, answer.text) == (
        400, f'Invalid namespace "team": {head}{told}\n\n',
    )  # fmt: skip
    assert (await api.get("/v1/namespace/team")).status == 404


async def test_claims_of_a_namespace_are_kept_and_told(api):
    claims = {"RequiredExtraClaims": {"team": "a"}, "OptionalExtraClaims": {}}
    await api.put("/v1/namespace", {"Name": "team", **claims})
    told = (await api.get("/v1/namespace/team")).json
    assert told["RequiredExtraClaims"] == {"team": "a"}
    await api.put("/v1/namespace", {"Name": "team"})
    told = (await api.get("/v1/namespace/team")).json
    assert (told["RequiredExtraClaims"], told["OptionalExtraClaims"]) == (None, None)


async def test_claims_in_a_list_are_refused(api):
    refused = await api.put("/v1/namespace", {"Name": "team", "RequiredExtraClaims": ["a"]})
    assert refused.status == 400
    assert "RequiredExtraClaims" in refused.text
