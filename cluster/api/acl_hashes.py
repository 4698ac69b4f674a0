"""The `Hash` of what access control keeps: it moves with the content, so that one can compare.

In: a policy, token or role. Out: base64 of BLAKE2b-256 over its texts, one after the other.
"""

import base64
import hashlib
from collections.abc import Iterable

import msgspec

from scheduler.structs.acl_auth import AuthMethod, BindingRule
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclRole, AclToken

_BYTES = 32


def policy_hash(policy: AclPolicy) -> str:
    """Over name, description, rules and what running work has it."""
    texts = [policy.name, policy.description, policy.rules]
    if policy.job_acl is not None:
        job = policy.job_acl
        texts += [job.namespace, job.job_id, job.group, job.task]
    return hash_of(texts)


def token_hash(token: AclToken) -> str:
    """Over name, type, policies, reach and roles."""
    reach = "global" if token.global_ else "local"
    roles = [link.id for link in token.roles]
    return hash_of([token.name, token.type, *token.policies, reach, *roles])


def role_hash(role: AclRole) -> str:
    """Over name, description and policies."""
    return hash_of([role.name, role.description, *(link.name for link in role.policies)])


def method_hash(method: AuthMethod) -> str:
    """Over everything that was written of it."""
    texts = [method.name, method.type, method.token_locality, method.token_name_format]
    texts += [str(method.max_token_ttl), str(method.default)]
    return hash_of([*texts, msgspec.json.encode(method.config, order="sorted").decode()])


def rule_hash(rule: BindingRule) -> str:
    """Over everything that was written of it."""
    texts = [rule.id, rule.description, rule.auth_method, rule.selector]
    return hash_of([*texts, rule.bind_type, rule.bind_name])


def hash_of(texts: Iterable[str]) -> str:
    """The hash of texts, without anything between them."""
    digest = hashlib.blake2b("".join(texts).encode(), digest_size=_BYTES).digest()
    return base64.b64encode(digest).decode()
