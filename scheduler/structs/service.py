"""Network services of a group or task, and their health checks. Kept whole; agents act on them."""

import msgspec

from scheduler.structs.wire import Duration, Wire, wire_names


class CheckRestart(Wire, frozen=True):
    """Restart the task after `limit` failing checks."""

    limit: int = 0
    grace: Duration = 0
    ignore_warnings: bool = False


class Check(
    Wire,
    frozen=True,
    rename=wire_names(
        tls_server_name="TLSServerName",
        tls_skip_verify="TLSSkipVerify",
        grpc_service="GRPCService",
        grpc_use_tls="GRPCUseTLS",
    ),
):
    """A health check of a service."""

    name: str = ""
    type: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    path: str = ""
    protocol: str = ""
    port_label: str = ""
    expose: bool = False
    address_mode: str = ""
    interval: Duration = 0
    timeout: Duration = 0
    initial_status: str = ""
    notes: str = ""
    tls_server_name: str = ""
    tls_skip_verify: bool = False
    method: str = ""
    header: dict[str, tuple[str, ...]] = {}
    check_restart: CheckRestart | None = None
    grpc_service: str = ""
    grpc_use_tls: bool = msgspec.field(default=False, name="GRPCUseTLS")
    task_name: str = ""
    success_before_passing: int = 0
    failures_before_critical: int = 0
    failures_before_warning: int = 0
    body: str = ""
    on_update: str = ""


class Service(Wire, frozen=True):
    """A named address that other workloads can look up."""

    name: str = ""
    task_name: str = ""
    port_label: str = ""
    address_mode: str = ""
    address: str = ""
    enable_tag_override: bool = False
    tags: tuple[str, ...] = ()
    canary_tags: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    connect: dict[str, object] | None = None
    meta: dict[str, str] = {}
    canary_meta: dict[str, str] = {}
    weights: dict[str, object] | None = None
    tagged_addresses: dict[str, str] = {}
    namespace: str = ""
    on_update: str = ""
    provider: str = ""
    cluster: str = ""
    identity: dict[str, object] | None = None
    kind: str = ""
