"""Rules of docs/spec/validation.md that the tables beside this file do not hold, and why."""

_DOORS = "tests/cluster/api/test_validation_doors.py::"
_ROUTES = "tests/cluster/api/test_job_routes.py::"
_SCALING = "tests/cluster/api/test_scaling_routes.py::"
_DISPATCH = "tests/cluster/operations/test_job_dispatch.py::"
_JOBS = "tests/cluster/operations/test_jobs.py::"
_CAPABILITIES = "tests/cluster/api/test_namespace_capabilities.py::"

#: Rules tested where their surroundings are, by the test.
ELSEWHERE = {
    _DOORS + "test_jobs_are_put_or_posted": "H1",
    _DOORS + "test_a_body_that_cannot_be_read_is_told_apart": "H2 H3 H4 H6",
    _DOORS + "test_unknown_keys_and_other_cases_are_taken": "H5",
    _DOORS + "test_each_door_wants_its_id": "H7 H8",
    _DOORS + "test_a_system_job_with_scaling_is_refused_at_registration_only": "H9",
    _DOORS + "test_priorities_of_evaluations": "H10 H11",
    _ROUTES + "test_what_stopping_refuses": "H12",
    _DOORS + "test_holes_in_lists": "H13",
    _CAPABILITIES + "test_a_job_that_uses_what_its_namespace_forbids_is_refused": "A7a A7b",
    _DISPATCH + "test_what_may_be_dispatched": "D2 D3 D4",
    _DISPATCH + "test_only_parameterized_jobs_that_are_there_are_dispatched": "D1",
    _SCALING + "test_each_refusal_is_answered_with_its_text": "D5 D6 D7 D8",
    "tests/cluster/operations/test_scaling.py::"
    "test_j12_a_system_job_runs_once_on_each_node_or_not_at_all": "D9",
    _JOBS + "test_a_stale_enforced_index_writes_nothing": "U1 U2 U3",
    _JOBS + "test_what_a_version_may_not_change": "U5 U6 U7",
    _JOBS + "test_a_long_submission_is_dropped_with_a_warning": "W21",
    _DOORS + "test_a_child_registered_as_it_was_read_is_no_child": "U4",
    "tests/cluster/api/test_dispatch_routes.py::"
    "test_j05_a_child_cannot_be_registered_as_it_was_read": "U8",
    _ROUTES + "test_a_job_file_that_cannot_be_read_is_refused": "F1 F2",
}

#: Rules that nothing can reach here, by the reason.
NOT_APPLICABLE = {
    "no Vault is ever enabled, so A2 comes first": "A3 A4",
    "servers of one cluster have one version": "A15",
    "filled in before a request is judged": "J4 J7 X8",
    "dropped before a request is judged": "V1 R5 W3",
    "thresholds are made positive before a request is judged": "C23",
    "filled in before a request is judged, so never seen over HTTP": "W12",
    "set by nothing that comes over HTTP": "U9",
    "job files are read by a reader of this project, whose wording is free (validation.md 26);"
    " lines and verdicts are compared with recorded job files": (
        "F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F14 F15 F16 F17 F18 F19 F20 F21 F22 F23 F24 F25"
        " F26 F27 F28 F29 F30 F31"
    ),
}
