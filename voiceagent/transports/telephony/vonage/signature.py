"""Authentication of Vonage's connections, and of this server's requests to its REST API.

   https://developer.vonage.com/en/getting-started/concepts/webhooks: both sides send JSON Web Tokens (RFC
7519). Ours are signed with an application's private key (RS256), Vonage's with the account's signature secret
(HS256).
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

MAX_AGE_S = 300.0
"""Maximum age of a token without an expiry, and maximum clock difference."""


def is_genuine(secret: str, headers: Mapping[str, str], now_s: float) -> bool:
    """Return True if `Authorization` holds a current token signed with the signature secret.

    headers: names in lower case. now_s: Unix seconds.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    signed, _, given = token.strip().rpartition(".")
    head, _, claims = signed.partition(".")
    try:
        expected = hmac.digest(secret.encode(), signed.encode(), "sha256")
        if scheme.lower() != "bearer" or not hmac.compare_digest(expected, _from_base64(given)):
            return False
        algorithm, said = json.loads(_from_base64(head)), json.loads(_from_base64(claims))
        issued_s, expires_s = float(said["iat"]), float(said.get("exp", said["iat"] + MAX_AGE_S))
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    return algorithm.get("alg") == "HS256" and issued_s - MAX_AGE_S <= now_s <= expires_s


def application_token(application_id: str, key: RSAPrivateKey, now_s: float) -> str:
    """Return a token for the REST API, valid for a minute. now_s: Unix seconds."""
    claims = {
        "application_id": application_id,
        "iat": int(now_s),
        "exp": int(now_s) + 60,
        "jti": str(uuid4()),
    }
    signed = f"{_to_base64({'alg': 'RS256', 'typ': 'JWT'})}.{_to_base64(claims)}"
    signature = key.sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{urlsafe_b64encode(signature).decode('ascii').rstrip('=')}"


def _to_base64(content: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(content).encode()).decode("ascii").rstrip("=")


def _from_base64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
