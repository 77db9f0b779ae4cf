from __future__ import annotations

from collections.abc import Mapping

import pytest

from voiceagent.access.access_control import Admission, Admitted, NoOtherGateways
from voiceagent.access.auth import ApiKeys, access_rules
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.access.config import AccessConfig, AccessLimits
from voiceagent.access.requester import AccessRules, NotAdmitted, Requester, networks

HOME, NEAR, FAR = "127.0.0.1", "10.0.0.7", "203.0.113.9"
LOCAL = {"host": "localhost:8080"}
KEY = {"authorization": "Bearer right"}


def rules(**server: object) -> AccessRules:
    return access_rules(AccessConfig.model_validate(server))


def keyed(limits: AccessLimits | None = None) -> Admission:
    keys = ApiKeys(frozenset({"right"}))
    return Admission(keys, rules(api_keys_env="K"), limits or AccessLimits(), lambda: 1000.0)


def refusal(admission: Admission, headers: dict[str, str], peer: str = HOME) -> NotAdmitted:
    with pytest.raises(NotAdmitted) as caught:
        admission.admit(headers, peer)
    return caught.value


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080", "a.localhost:1", "127.8.8.8"])
def test_without_keys_the_names_of_this_machine_are_let_in(host: str):
    Admission(rules=rules()).admit({"host": host}, HOME)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "localhost.evil.example", "[::1"])
def test_without_keys_another_name_of_this_machine_is_refused(host: str):
    refused = refusal(Admission(rules=rules()), {"host": host, "origin": f"http://{host}"})

    assert (refused.status, refused.code) == (403, "host_not_allowed")


@pytest.mark.parametrize("name", ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded"])
def test_without_keys_what_a_proxy_passes_on_is_refused(name: str):
    assert refusal(Admission(rules=rules()), {**LOCAL, name: FAR}).code == "proxy_not_trusted"


def test_what_a_trusted_proxy_passes_on_is_let_in_under_any_name():
    admission = Admission(rules=rules(trusted_proxies=("127.0.0.1",)))

    admission.admit({"host": "agent.example", "x-forwarded-for": FAR}, HOME)


def test_an_open_server_lets_everybody_in():
    Admission(rules=rules(open=True)).admit({"host": "evil.example", "x-forwarded-for": FAR}, HOME)


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        (FAR, FAR),
        (f"1.1.1.1, {FAR}", FAR),  # what the caller himself claims stands before it
        (f"{FAR}, 10.0.0.8", FAR),
        ("", NEAR),
    ],
)
def test_the_last_address_that_is_no_trusted_proxy_asks(forwarded: str, address: str):
    proxied = AccessRules(proxies=networks(("10.0.0.0/8",)))

    assert proxied.requester({"x-forwarded-for": forwarded}, NEAR) == Requester(address)


def test_nobody_else_says_who_asks():
    assert AccessRules().requester({"x-forwarded-for": FAR}, NEAR) == Requester(NEAR, forwarded=True)


def test_without_keys_pages_of_other_sites_are_refused():
    page = {**LOCAL, "origin": "https://shop.example"}

    assert refusal(Admission(rules=rules()), page).code == "origin_not_allowed"
    Admission(rules=rules(allowed_origins=("https://shop.example",))).admit(page, HOME)


def test_with_keys_pages_of_any_site_call_unless_they_are_named():
    page = {**KEY, "host": "agent.example", "origin": "https://shop.example"}
    named = rules(api_keys_env="K", allowed_origins=("https://other.example",))

    keyed().admit(page, FAR)
    with pytest.raises(NotAdmitted, match=r"shop\.example may not call"):
        Admission(ApiKeys(frozenset({"right"})), named).admit(page, FAR)


def test_many_wrong_keys_shut_an_address_out_for_a_minute():
    now_s = 1000.0
    limits = AccessLimits().model_copy(update={"max_failed_auth_per_minute": 3})
    admission = Admission(ApiKeys(frozenset({"right"})), rules(api_keys_env="K"), limits, lambda: now_s)
    for _ in range(3):
        assert refusal(admission, {"authorization": "Bearer wrong"}, FAR).status == 401

    assert refusal(admission, KEY, FAR).code == "too_many_wrong_keys"
    admission.admit(KEY, NEAR)
    now_s += 61
    admission.admit(KEY, FAR)


def test_a_missing_key_is_no_wrong_one():
    admission = keyed(AccessLimits().model_copy(update={"max_failed_auth_per_minute": 1}))
    for _ in range(3):
        assert refusal(admission, {}, FAR).status == 401


async def begin(admission: Admission, headers: dict[str, str], peer: str):
    return await admission.begin_call(admission.admit(headers, peer), "rtc_1")


async def test_one_address_has_so_many_calls_and_others_have_their_own():
    admission = keyed(AccessLimits(max_calls_per_address=2))
    over = await begin(admission, KEY, FAR)
    await begin(admission, KEY, FAR)

    with pytest.raises(NotAdmitted, match=r"limits\.max_calls_per_address") as caught:
        await begin(admission, KEY, FAR)
    assert caught.value.status == 429
    await begin(admission, KEY, NEAR)
    over()
    over()
    await begin(admission, KEY, FAR)
    with pytest.raises(NotAdmitted):
        await begin(admission, KEY, FAR)


async def test_one_key_and_one_secret_have_so_many_calls():
    admission = keyed(AccessLimits(max_calls_per_key=1).model_copy(update={"max_calls_per_secret": 1}))
    secret = {"authorization": f"Bearer {admission.new_secret({}, 60).value}"}
    await begin(admission, KEY, FAR)
    await begin(admission, secret, FAR)

    for headers, name in ((KEY, "key"), (secret, "secret")):
        with pytest.raises(NotAdmitted, match=rf"limits\.max_calls_per_{name}"):
            await begin(admission, headers, NEAR)


def test_a_clock_that_is_set_ends_no_secret_and_prolongs_none():
    now_s, unix_s = 1000.0, 1.8e9
    admission = Admission(ApiKeys(frozenset({"right"})), clock=lambda: now_s, unix_clock=lambda: unix_s)
    secret = {"authorization": f"Bearer {admission.new_secret({}, 60).value}"}
    unix_s += 86_400
    admission.admit(secret, FAR)
    unix_s -= 2 * 86_400
    now_s += 60
    with pytest.raises(NotAdmitted):
        admission.admit(secret, FAR)


class Others(NoOtherGateways):
    """Other gateways that gave out a secret, have a call of everybody, and shut an address out."""

    secret = ClientSecret("ek_elsewhere", 1.8e9, {"instructions": "Be brief."}, 2000.0)

    async def find_secret(self, key: str):
        return self.secret if key == self.secret.value else None

    async def acquire(self, names: Mapping[str, int]):
        full = [name for name, most in names.items() if most == 1]
        return full[0] if full else lambda: None

    def blocked(self, address: str) -> bool:
        return address == FAR


async def test_a_secret_of_another_gateway_is_learnt_and_lets_in():
    admission = keyed()
    admission.others = Others()
    secret = {"authorization": f"Bearer {Others.secret.value}"}
    await admission.learn(secret, NEAR)

    assert admission.admit(secret, NEAR).session == {"instructions": "Be brief."}


async def test_calls_at_other_gateways_count_and_are_given_back_here():
    admission = keyed(AccessLimits(max_calls_per_key=1))
    admission.others = Others()
    with pytest.raises(NotAdmitted, match=r"limits\.max_calls_per_key"):
        await begin(admission, KEY, NEAR)

    admission.others = NoOtherGateways()
    await begin(admission, KEY, NEAR)


def test_an_address_that_another_gateway_shuts_out_is_refused():
    admission = keyed()
    admission.others = Others()

    assert refusal(admission, KEY, FAR).code == "too_many_wrong_keys"
    admission.admit(KEY, NEAR)


def test_calls_of_this_machine_are_not_counted_by_address():
    assert Admission(rules=rules()).admit(LOCAL, HOME) == Admitted()


@pytest.mark.parametrize(
    ("headers", "peer", "sees"),
    [
        (LOCAL, HOME, True),
        (KEY, FAR, True),
        ({}, FAR, False),
        ({"host": "agent.example"}, HOME, False),
        ({**LOCAL, "x-forwarded-for": FAR}, HOME, False),
        ({"authorization": "Bearer wrong"}, FAR, False),
    ],
)
def test_details_are_for_owners_and_this_machine(headers: dict[str, str], peer: str, sees: bool):
    assert keyed().may_see_details(headers, peer) is sees
