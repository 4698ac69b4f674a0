"""Whose certificate an agent takes for its server's: a pinned one, its owner's, the system's.

In: the server's address, a fingerprint or a file of certificates, where the pinned one is kept.
Out: a TLS context, or `BadCertificate`. A pinned certificate is the only one that is taken, by
whomever it is signed and whatever name stands in it.
"""

import hashlib
import re
import ssl
from pathlib import Path
from urllib.parse import urlsplit

#: Seconds for the server to show its certificate.
PATIENCE_S = 5.0
_FORM = re.compile(r"(?:sha256:)?((?:[0-9a-f]{2}:?){32})", re.IGNORECASE)
_NAME = "server.pem"


class BadCertificate(Exception):
    """What the server shows is not what was agreed, or it shows nothing."""


def fingerprint_of(pem: str) -> str:
    """`sha256:` and the digest of a certificate, in small hexadecimal digits."""
    return f"sha256:{hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()}"


def read_fingerprint(text: str) -> str:
    """A fingerprint as people write it, with or without colons. Raises BadCertificate."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise BadCertificate(f"a fingerprint looks like sha256:9f86d081…, 64 digits, not {text!r}")
    return f"sha256:{match[1].replace(':', '').lower()}"


def shown_certificate(server: str) -> str:
    """The certificate (PEM) that an https address shows. Raises BadCertificate."""
    parts = urlsplit(server)
    try:
        place = (parts.hostname or "", parts.port or 443)
        return ssl.get_server_certificate(place, timeout=PATIENCE_S)
    except (OSError, ValueError) as error:
        raise BadCertificate(f"{server} shows no certificate: {error}") from None


def trust(
    server: str, *, fingerprint: str = "", ca_file: str = "", directory: Path
) -> ssl.SSLContext | None:
    """How to know the server; None: by plain http, or by the system's certificates.

    A fingerprint is compared once, with the first contact; the certificate is kept in `directory`
    and pinned from then on, also without the fingerprint. Raises BadCertificate.
    """
    kept = directory / _NAME
    if not server.startswith("https"):
        if fingerprint or ca_file:
            raise BadCertificate(f"{server} has no certificate: it is not https")
        return None
    if ca_file:
        try:
            return ssl.create_default_context(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise BadCertificate(f"{ca_file} holds no certificates: {error}") from None
    wanted = read_fingerprint(fingerprint) if fingerprint else ""
    pem = kept.read_text() if kept.is_file() else ""
    if wanted and (not pem or fingerprint_of(pem) != wanted):
        pem = shown_certificate(server)
        if fingerprint_of(pem) != wanted:
            raise BadCertificate(
                f"{server} shows the certificate {fingerprint_of(pem)}, not {wanted}: this is"
                " another server, or its certificate was renewed; ask for the join command anew"
            )
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept.write_text(pem)
    return _only(pem) if pem else None


def _only(pem: str) -> ssl.SSLContext:
    """A context to which this one certificate is the whole world."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # The certificate itself is trusted, without the one that signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=pem)
    return context
