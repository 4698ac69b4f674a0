"""Rules for the identities and secrets of a task.

In: a task. Out: what is wrong with them.
"""

import re

from cluster.jobspec.defaults import DEFAULT_AUDIENCE
from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.task_group import Identity, SecretAsk, Task

DEFAULT_IDENTITY = "default"
_IDENTITY_RULE = "^[a-zA-Z0-9-_]{1,128}$"
_IDENTITY_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}", re.ASCII)
_NAME_OF_SECRETS = "^[a-zA-Z0-9_]{1,128}$"
_SECRET_NAME = re.compile(r"[a-zA-Z0-9_]{1,128}", re.ASCII)
#: Providers of secrets that nodes have without a plugin.
_BUILT_IN_PROVIDERS = ("nomad", "vault")


#: The default identity of a task that says nothing of it.
_UNTOUCHED = Identity(name=DEFAULT_IDENTITY, audience=(DEFAULT_AUDIENCE,))


def check_identities(task: Task, findings: Findings) -> None:
    """Add the faults of a task's identities, the default one first."""
    if task.identity is not None and task.identity != _UNTOUCHED:
        part = findings.below("Identity")
        _check_identity(task.identity, part)
        findings.nest(part, f"Identity {quoted(task.identity.name)} is invalid: ")
    for position, identity in enumerate(task.identities):
        part = findings.below(f"Identities[{position}]")
        _check_identity(identity, part)
        findings.nest(part, f"Identity {quoted(identity.name)} is invalid: ")
    if task.identities and any(each.name == DEFAULT_IDENTITY for each in task.identities):
        findings.add("Duplicate default identities found", "Identities")


def _check_identity(identity: Identity, findings: Findings) -> None:
    if _IDENTITY_NAME.fullmatch(identity.name) is None:
        text = f"invalid name {quoted(identity.name)}. Must match regex {_IDENTITY_RULE}"
        findings.add(text, "Name")
    for number, audience in enumerate(identity.audience, start=1):
        if not audience:
            findings.add(f"an empty string is an invalid audience ({number})", "Audience")
    _check_change(identity, findings)
    if identity.ttl > 0 and identity.name == DEFAULT_IDENTITY:
        findings.add("ttl for default identity not yet supported", "TTL")
    if identity.ttl < 0:
        findings.add("ttl must be >= 0", "TTL")
    if identity.filepath and not identity.file:
        findings.add("file parameter must be true in order to specify filepath", "Filepath")


def _check_change(identity: Identity, findings: Findings) -> None:
    mode, signal = identity.change_mode, identity.change_signal
    if mode == "signal":
        if not signal:
            text = 'change_signal must be specified when using change_mode="signal"'
            findings.add(text, "ChangeSignal")
    elif mode not in ("", "noop", "restart"):
        findings.add(f"invalid change_mode: {mode}", "ChangeMode")
    elif signal:
        text = f'can only use change_signal={quoted(signal)} with change_mode="signal"'
        findings.add(text, "ChangeSignal")


def check_secrets(task: Task, findings: Findings) -> None:
    """Add the faults of the secrets a task wants."""
    seen: set[str] = set()
    for position, secret in enumerate(task.secrets):
        place, name = f"Secrets[{position}]", quoted(secret.name)
        if secret.name in seen:
            findings.add(f"Duplicate secret {name} found", place)
        seen.add(secret.name)
        if secret.provider == "vault" and task.vault is None:
            findings.add(f'Secret {name} has provider "vault" but no vault block', place)
        part = findings.below(place)
        _check_secret(secret, part)
        findings.nest(part, f"Secret {name} is invalid: ")


def _check_secret(secret: SecretAsk, findings: Findings) -> None:
    if not secret.name:
        findings.add("secret name cannot be empty", "Name")
    if _SECRET_NAME.fullmatch(secret.name) is None:
        findings.add(f"secret name must match regex {_NAME_OF_SECRETS}", "Name")
    if not secret.provider:
        findings.add("secret provider cannot be empty", "Provider")
    if not secret.path:
        findings.add("secret path cannot be empty", "Path")
    if secret.provider in _BUILT_IN_PROVIDERS:
        if secret.env:
            findings.add(f"{secret.provider} provider cannot use the env block", "Env")
    elif secret.config:
        text = f"custom plugin provider {secret.provider} cannot use the config block"
        findings.add(text, "Config")
