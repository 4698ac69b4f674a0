"""Signing in through the API: by a signed token, or by a browser at a provider (access.md 6).

In: requests of whoever comes. Out: a token of ours, or where to sign in first. Providers are asked
on threads of their own, outside of any transaction.
"""

import asyncio

from django.http import HttpResponse

from cluster.api.acl_tokens import token_form
from cluster.api.request import Call
from cluster.api.respond import answer_write
from cluster.logins.claims import Claims
from cluster.operations.acl_login import login_method, prove, token_for
from cluster.operations.acl_oidc import Coming, Going, begun, came_back, oidc_method
from scheduler.structs.acl_auth import AuthMethod


async def sign_in(call: Call) -> HttpResponse:
    """PUT /v1/acl/login: a token of ours for one that an auth method trusts."""
    body = call.body("ACLLoginRequest")
    name, signed = body.text("AuthMethodName"), body.text("LoginToken")
    method = await call.read(lambda reader: login_method(reader, name, signed))
    claims = await asyncio.to_thread(prove, method, signed, now=call.now)
    return await _answer_token(call, method, claims)


async def begin(call: Call) -> HttpResponse:
    """PUT /v1/acl/oidc/auth-url: where a browser signs in."""
    body = call.body("ACLOIDCAuthURLRequest")
    going = Going(
        method=body.text("AuthMethodName"),
        redirect_uri=body.text("RedirectURI"),
        client_nonce=body.text("ClientNonce"),
    )
    method = await call.read(lambda reader: oidc_method(reader, going))
    address = await asyncio.to_thread(begun, method, going, now=call.now)
    return answer_write(call.request, {"AuthURL": address}, 0)


async def complete(call: Call) -> HttpResponse:
    """PUT /v1/acl/oidc/complete-auth: a token of ours for the code that the browser brought."""
    body = call.body("ACLOIDCCompleteAuthRequest")
    coming = Coming(
        method=body.text("AuthMethodName"),
        redirect_uri=body.text("RedirectURI"),
        client_nonce=body.text("ClientNonce"),
        state=body.text("State"),
        code=body.text("Code"),
        issuer=body.text("Iss"),
    )
    method = await call.read(lambda reader: oidc_method(reader, coming))
    claims = await asyncio.to_thread(came_back, method, coming, now=call.now)
    return await _answer_token(call, method, claims)


async def _answer_token(call: Call, method: AuthMethod, claims: Claims) -> HttpResponse:
    made = await call.write(token_for, method, claims)
    form = await call.read(lambda reader: token_form(reader, made.token, made.secret))
    return answer_write(call.request, form, 0)
