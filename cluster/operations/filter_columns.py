"""What of a filter can be asked of the tables, without reading what they hold (http-api.md 2.4).

In: a noun and a filter. Out: columns and the values they must have. Knows which fields of the
structs are columns; how a filter is written is `filter_expression`'s business.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cluster.operations.filter_expression import Filter
from scheduler.state import nouns
from scheduler.state.noun import Noun
from scheduler.state.service_noun import SERVICES
from scheduler.state.story_nouns import STORIES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES

_COLUMNS: dict[Noun[Any, Any], dict[str, str]] = {
    nouns.JOBS: {
        "ID": "job_id",
        "Namespace": "namespace",
        "ParentID": "parent_id",
        "Status": "status",
        "Type": "type",
    },
    nouns.ALLOCATIONS: {
        "ClientStatus": "client_status",
        "DeploymentID": "deployment_id",
        "DesiredStatus": "desired_status",
        "EvalID": "eval_id",
        "ID": "id",
        "JobID": "job_id",
        "Namespace": "namespace",
        "NodeID": "node_id",
        "TaskGroup": "task_group",
    },
    nouns.EVALUATIONS: {
        "DeploymentID": "deployment_id",
        "ID": "id",
        "JobID": "job_id",
        "Namespace": "namespace",
        "PreviousEval": "previous_eval",
        "Status": "status",
        "TriggeredBy": "triggered_by",
        "Type": "type",
    },
    nouns.DEPLOYMENTS: {
        "ID": "id",
        "JobID": "job_id",
        "Namespace": "namespace",
        "Status": "status",
    },
    nouns.NODES: {
        "Datacenter": "datacenter",
        "ID": "id",
        "Name": "name",
        "NodePool": "node_pool",
        "SchedulingEligibility": "eligibility",
        "Status": "status",
    },
    HOST_VOLUMES: {
        "ID": "id",
        "Name": "name",
        "Namespace": "namespace",
        "NodeID": "node_id",
        "NodePool": "node_pool",
        "PluginID": "plugin_id",
        "State": "state",
    },
    SERVICES: {
        "AllocID": "alloc_id",
        "ID": "id",
        "JobID": "job_id",
        "Namespace": "namespace",
        "NodeID": "node_id",
        "ServiceName": "service_name",
    },
    VARIABLES: {"Namespace": "namespace", "Path": "path"},
    STORIES: {
        "Actor": "actor",
        "ID": "id",
        "JobID": "job_id",
        "Kind": "kind",
        "Namespace": "namespace",
        "ParentJobID": "parent_job_id",
    },
}


def columns_of(noun: Noun[Any, Any]) -> Mapping[str, str]:
    """The column of each field that is one, by the field's name in an expression."""
    return _COLUMNS[noun]


def known_columns(noun: Noun[Any, Any], given: Filter | None) -> Iterator[tuple[str, str]]:
    """Columns with the value that every wanted row has.

    The first equality that is about no column ends them: looking at it may be an error, which
    must not be hidden by what stands behind it.
    """
    columns = _COLUMNS[noun]
    for field, value in given.equalities if given is not None else ():
        # A database may refuse what cannot be printed, and no such column holds it.
        if field not in columns or not value.isprintable():
            return
        yield columns[field], value


def is_in_columns(noun: Noun[Any, Any], given: Filter) -> bool:
    """Whether the columns alone decide what the filter wants."""
    return given.is_exact and len(list(known_columns(noun, given))) == len(given.equalities)
