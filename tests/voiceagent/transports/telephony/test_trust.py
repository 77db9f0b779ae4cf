"""Proofs that a request comes from Telnyx, Plivo, Vonage or the operator's own Asterisk."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from phone_server import config_of, phone_server
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from voiceagent.transports.telephony import plivo as plivo_signature
from voiceagent.transports.telephony import vonage as vonage_signature
from voiceagent.transports.telephony.asterisk import has_password
from voiceagent.transports.telephony.telnyx import TOKEN_HEADER
from voiceagent.transports.telephony.vonage import VonageSerializer
from voiceagent.validation.errors import ConfigError

NOW_S = 1_800_000_000.0
SECRET = "a secret that is long enough for everybody"
KEY = rsa.generate_private_key(65_537, 2_048)


def pem_of(key) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def lines(telephony, environment):
    """The lines of this `[telephony]`."""
    config = config_of(telephony)
    return config.telephony.lines(environment, config.source)


# ---- Plivo


@pytest.mark.parametrize(
    ("url", "form", "signed"),
    [
        ("https://h/answer", {}, "https://h/answer"),
        ("https://h/answer?b=2&a=1&a=0", {}, "https://h/answer?a=0&a=1&b=2"),
        ("https://h/answer", {"To": ["2"], "From": ["1"]}, "https://h/answer?From1To2"),
        ("https://h/answer?b=2", {"From": ["1"]}, "https://h/answer?b=2.From1"),
    ],
)
def test_plivo_signs_url_query_form_and_nonce(url, form, signed):
    """The rules of `plivo.utils.signature_v3` of Plivo's own library."""
    mac = hmac.new(b"token", f"{signed}.12345".encode(), hashlib.sha256).digest()
    assert plivo_signature.signature("token", url, form, "12345") == base64.b64encode(mac).decode()


def test_one_of_several_signatures_of_plivo_is_enough_of_either_account():
    good = plivo_signature.signature("token", "https://h/a", {}, "n1")
    for header in plivo_signature.HEADERS:
        headers = {header: f"AAAA, {good}", plivo_signature.NONCE_HEADER: "n1"}
        assert plivo_signature.is_genuine("token", "https://h/a", {}, headers)
        assert plivo_signature.is_genuine("token", "https://h:443/a", {}, headers)
        assert not plivo_signature.is_genuine("other", "https://h/a", {}, headers)
        assert not plivo_signature.is_genuine("token", "https://h/b", {}, headers)
        headers[plivo_signature.NONCE_HEADER] = "n2"
        assert not plivo_signature.is_genuine("token", "https://h/a", {}, headers)
    assert not plivo_signature.is_genuine("token", "https://h/a", {}, {})


# ---- Vonage


def vonage(secret: str = SECRET, algorithm: str = "HS256", **claims) -> dict[str, str]:
    claims = {"iss": "Vonage", "iat": NOW_S, **claims}
    return {"authorization": f"Bearer {jwt.encode(claims, secret, algorithm)}"}


def test_a_token_that_vonage_signed_just_now_is_genuine():
    assert vonage_signature.is_genuine(SECRET, vonage(), NOW_S + 1)
    assert vonage_signature.is_genuine(SECRET, vonage(exp=NOW_S + 900), NOW_S + 899)


@pytest.mark.parametrize(
    ("headers", "now_s"),
    [
        (vonage("another secret that is long enough for everybody"), NOW_S),
        (vonage(algorithm="HS512"), NOW_S),
        (vonage(), NOW_S + 301),
        (vonage(), NOW_S - 301),
        (vonage(exp=NOW_S + 900), NOW_S + 901),
        (vonage(iat="now"), NOW_S),
        ({"authorization": "Bearer a.b.c"}, NOW_S),
        ({"authorization": "Bearer "}, NOW_S),
        ({"authorization": "Bearer \u00fc.\u00fc.\u00fc"}, NOW_S),
        ({"authorization": vonage()["authorization"].replace("Bearer", "Basic")}, NOW_S),
        ({}, NOW_S),
    ],
)
def test_any_other_token_is_not(headers, now_s):
    assert not vonage_signature.is_genuine(SECRET, headers, now_s)


def test_requests_to_vonage_are_signed_by_the_application():
    token = vonage_signature.application_token("app-1", KEY, NOW_S)
    options = {"verify_exp": False, "verify_iat": False}
    claims = jwt.decode(token, KEY.public_key(), ["RS256"], options=options)
    assert (claims["application_id"], claims["iat"], claims["exp"]) == ("app-1", NOW_S, NOW_S + 60)


@pytest.mark.parametrize(
    "pem",
    ["no key", pem_of(ec.generate_private_key(ec.SECP256R1()))],
    ids=["no key", "another key"],
)
def test_a_variable_without_an_rsa_key_is_named(pem):
    telephony = {"vonage": {"private_key_env": "KEY"}}
    with pytest.raises(ConfigError, match=r"telephony\.vonage\.private_key_env = 'KEY': holds"):
        lines(telephony, {"KEY": pem})


def test_a_private_key_gives_control_of_calls_whose_id_is_known():
    telephony = {"vonage": {"private_key_env": "KEY"}}
    line = lines(telephony, {"KEY": pem_of(KEY)})["vonage"]
    connected = {"event": "websocket:connected", "content-type": "audio/l16;rate=8000"}
    assert line.control(VonageSerializer().decode(json.dumps(connected))) is None
    control = line.control(VonageSerializer().decode(json.dumps({**connected, "call_uuid": "u1"})))
    assert control is not None
    assert control.transfers


# ---- passwords and secrets


def basic(text: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def test_asterisk_sends_its_password_for_whatever_user():
    assert has_password("p:w", basic("asterisk:p:w"))
    for headers in (basic("asterisk:other"), basic("p:w"), {"authorization": "Basic !"}, {}):
        assert not has_password("p:w", headers)


@pytest.mark.parametrize(
    ("provider", "key", "good", "bad"),
    [
        ("telnyx", "stream_token_env", lambda url: {TOKEN_HEADER: SECRET}, {TOKEN_HEADER: "other"}),
        ("asterisk", "password_env", lambda url: basic(f"asterisk:{SECRET}"), basic("asterisk:other")),
        (
            "plivo",
            "auth_token_env",
            lambda url: {
                "x-plivo-signature-v3": plivo_signature.signature(SECRET, url, {}, "n1"),
                "x-plivo-signature-v3-nonce": "n1",
            },
            {"x-plivo-signature-v3": "AAAA", "x-plivo-signature-v3-nonce": "n1"},
        ),
        ("vonage", "signature_secret_env", None, vonage()),
    ],
)
async def test_a_handshake_is_refused_unless_it_proves_where_it_comes_from(provider, key, good, bad):
    async with phone_server({provider: {key: "KEY"}}, {"KEY": SECRET}) as server:
        url = server.url(provider)
        for headers in ({}, bad):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, additional_headers=headers)
            assert refused.value.response.status_code == 403
        assert not server.calls
        headers = good(url) if good else vonage(iat=time.time())
        async with connect(url, additional_headers=headers):
            pass
