"""Drivers and their options: which are carried out, and the drivers that are refused by name.

In: nothing. Out: a row for every option of a driver, and the reason for each driver of the
reference that nodes here do not have.
"""

from collections.abc import Mapping

from cluster.jobspec.carried_out import NO_DRIVER_NETWORK, Fate, Row, rows

#: Drivers of the reference that are not here, and why, to go on with after the name.
REFUSED_DRIVERS: Mapping[str, str] = {
    "java": "not carried out: run java by the driver exec, as its command",
    "qemu": "not carried out: there are no virtual machines here",
}

_OF_OWNER = "only where the node's owner allows privileged containers"
_OWN_OPTION = "Bivouac's own, named as those of `docker`"

#: Every option of the drivers there are; what is not named, a driver does not know.
OPTIONS: Mapping[str, Mapping[str, Row]] = {
    "raw_exec": {
        **rows("command args work_dir oom_score_adj denied_envvars"),
        **rows(
            "cgroup_v2_override cgroup_v1_override",
            why="groups that are there already; nothing is limited then",
        ),
        **rows("cpu_hard_limit pids_limit", why=_OWN_OPTION),
    },
    "exec": {
        **rows("command args work_dir"),
        **rows("pid_mode ipc_mode", why="`private`; `host` is refused"),
        **rows("cap_add cap_drop", why="within what the node's owner allows"),
        **rows("cpu_hard_limit pids_limit", why=_OWN_OPTION),
    },
    "docker": {
        **rows("image command args entrypoint ports network_mode network_aliases hostname"),
        **rows("dns_servers dns_search_domains dns_options extra_hosts mount mounts devices"),
        **rows("volumes", why="of the host and the engine only where the node's owner lets them"),
        **rows("cpu_hard_limit cpu_cfs_period memory_hard_limit pids_limit shm_size ulimit"),
        **rows("sysctl oom_score_adj group_add init cap_add cap_drop readonly_rootfs"),
        **rows("security_opt auth force_pull image_pull_timeout load labels healthchecks"),
        **rows("privileged pid_mode ipc_mode uts_mode userns_mode", why=_OF_OWNER),
        **rows("work_dir cgroupns ipv4_address ipv6_address mac_address storage_opt"),
        **rows("runtime", why="`runc` or `nvidia`, where the engine has it"),
        **rows("cpuset_cpus", why="`cores` that are granted stand in its place"),
        **rows("volume_driver", why="only where the node's owner lets volumes be mounted"),
        **rows("tty interactive", Fate.FAILS, "nobody types into a task; `alloc exec` does"),
        **rows("logging", Fate.FAILS, "output is read from the engine's own log"),
        **rows("port_map", Fate.FAILS, "of networks of tasks: use `ports` and a group network"),
        **rows(
            "advertise_ipv6_address container_exists_attempts isolation auth_soft_fail"
            " disable_log_collection",
            Fate.FAILS,
            "not handed to the engine yet",
        ),
    },
    "mock_driver": {
        **rows("run_for exit_code exit_signal exit_err_msg kill_after start_error"),
        **rows("start_error_recoverable start_block_for signal_error"),
        **rows("stdout_string stdout_repeat stderr_string stderr_repeat"),
        "stdout_repeat_duration": Row(Fate.WARNS, "all repetitions are written at the start"),
        "stderr_repeat_duration": Row(Fate.WARNS, "all repetitions are written at the start"),
        "plugin_exit_after": Row(Fate.WARNS, "the driver is no plugin that could exit"),
        "driver_ip": Row(Fate.WARNS, NO_DRIVER_NETWORK),
        "driver_advertise": Row(Fate.WARNS, NO_DRIVER_NETWORK),
        "driver_port_map": Row(Fate.WARNS, NO_DRIVER_NETWORK),
        "exec_command": Row(Fate.WARNS, "its tasks are no processes: no command runs inside them"),
    },
}


def option_row(driver: str, option: str) -> Row | None:
    """What becomes of an option; None: anything goes for a driver that is not ours.

    An option that our driver does not know fails the task, as a misspelt one must.
    """
    options = OPTIONS.get(driver)
    if options is None:
        return None
    return options.get(option) or Row(Fate.FAILS, f"{driver} has no such option")
