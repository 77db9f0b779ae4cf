"""Campaigns in the store, and the loop that begins their calls.

Every process of a server runs the loop. A decision and its effect on the store are one transaction, so that
a call is begun once; if the process dies before it dials, the call counts as a failed attempt.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256

import structlog

from voiceagent.session.call import CallRefused, new_id
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialOrder
from voiceagent.transports.telephony.outbound.policies.campaign import (
    Campaign,
    Entry,
    EntryState,
    Pacing,
    to_campaign,
    to_document,
)
from voiceagent.transports.telephony.outbound.policies.limits import DialRefused
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.outbound.store import find_call, insert, rates, running_numbers

log = structlog.get_logger()

TICK_S = 1.0
"""Interval at which campaigns are looked at."""
RETRY_S = 30.0
"""Wait after the store failed."""


class Campaigns:
    """The campaigns of a server."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._store = dialer.store
        self._dialing: set[asyncio.Task[OutboundCall]] = set()

    async def add(self, orders: Sequence[DialOrder], pacing: Pacing, key: str = "") -> Campaign:
        """Add a campaign that calls these people, and return it, or the one that was added with the same
        idempotency key. key: "" for none. Raise DialRefused, CallRefused, OSError.
        """
        self._check(orders)
        entries = tuple(
            Entry(order.to, order.agent, order.reason, order.provider, order.parameters) for order in orders
        )
        request = sha256(_to_text(Campaign("", pacing, entries)).encode()).hexdigest()
        campaign = Campaign(_id_of_key(key) if key else new_id("camp"), pacing, entries, request=request)
        earlier = await asyncio.to_thread(self._save_new, campaign)
        if earlier is not None:
            return _repeated(earlier, campaign)
        log.info("campaign_added", campaign=campaign.campaign_id, calls=len(entries))
        return campaign

    def _check(self, orders: Sequence[DialOrder]) -> None:
        """Raise DialRefused or CallRefused for a call that cannot be placed, or a number that comes twice."""
        first: dict[str, int] = {}
        for index, order in enumerate(orders):
            try:
                self._dialer.new_call(order)
            except DialRefused as refused:
                raise DialRefused(refused.code, f"calls.{index}.{refused}", refused.status) from refused
            if first.setdefault(order.to, index) != index:
                message = f"calls.{index}.to is {order.to}, as is calls.{first[order.to]}.to"
                raise DialRefused("invalid_value", f"{message}; allowed: each number once", 400)

    async def find(self, campaign_id: str) -> Campaign | None:
        """Return a campaign, None if there is none with this id. Raise OSError."""
        return await asyncio.to_thread(self._change, campaign_id, lambda campaign: campaign)

    async def stop(self, campaign_id: str) -> Campaign | None:
        """Begin no further calls of a campaign, and return it. Raise OSError."""
        return await asyncio.to_thread(self._change, campaign_id, Campaign.stop)

    async def run(self) -> None:
        """Begin calls as they become due, until cancelled."""
        while True:
            try:
                await self.tick()
            except OSError as error:
                log.error("outbound_store_failed", reason=str(error))
                await asyncio.sleep(RETRY_S)
            await asyncio.sleep(TICK_S)

    async def tick(self) -> None:
        """Look at all campaigns once: record calls that have ended, and begin calls that are due."""
        try:
            self._dialer.check_capacity()
            may_call = True
        except CallRefused:
            may_call = False
        for call in await asyncio.to_thread(self._advance_all, may_call):
            self._dialer.publish(call)
            dialing = asyncio.create_task(self._dialer.dial(call), name=f"dial {call.call_id}")
            self._dialing.add(dialing)
            dialing.add_done_callback(self._dialing.discard)

    def _advance_all(self, may_call: bool) -> list[OutboundCall]:
        """Advance every campaign within a transaction. Return the calls to dial."""
        now_s = self._dialer.clock()
        begun: list[OutboundCall] = []
        with self._store.transaction() as database:
            rows = database.execute("SELECT document FROM campaigns WHERE is_over = 0").fetchall()
            for (document,) in rows:
                before = to_campaign(json.loads(document))
                campaign = _with_ended_calls(before, database, now_s)
                if may_call:
                    campaign, call = self._begin_next(campaign, database, now_s)
                    begun += [] if call is None else [call]
                if campaign != before:
                    _save(database, campaign, now_s)
        return begun

    def _begin_next(
        self, campaign: Campaign, database: sqlite3.Connection, now_s: float
    ) -> tuple[Campaign, OutboundCall | None]:
        """Insert the call that is due, if any. Return the campaign and the call."""
        index = campaign.next_call(now_s, running_numbers(database))
        if index is None or self._dialer.table.limits.wait_s(*rates(database, now_s), now_s) > 0:
            return campaign, None
        entry = campaign.entries[index]
        try:
            call = self._dialer.new_call(
                DialOrder(entry.to, entry.agent, entry.reason, entry.provider, entry.parameters)
            )
        except (DialRefused, CallRefused) as refused:  # the configuration has changed
            return campaign.without_entry(index, str(refused)), None
        insert(database, call, "", campaign.campaign_id)
        return campaign.with_call(index, call.call_id, now_s), call

    def _save_new(self, campaign: Campaign) -> Campaign | None:
        """Save a new campaign. Return the one that is there with its id, which is kept."""
        with self._store.transaction() as database:
            earlier = _find(database, campaign.campaign_id)
            if earlier is not None:
                return earlier
            row = (campaign.campaign_id, campaign.is_over, self._dialer.clock(), _to_text(campaign))
            database.execute("INSERT INTO campaigns VALUES (?, ?, ?, ?)", row)
            return None

    def _change(self, campaign_id: str, change: Callable[[Campaign], Campaign]) -> Campaign | None:
        with self._store.transaction() as database:
            before = _find(database, campaign_id)
            if before is None:
                return None
            campaign = change(before)
            if campaign != before:
                _save(database, campaign, self._dialer.clock())
            return campaign


def _id_of_key(key: str) -> str:
    """Return the id of the campaign with an idempotency key."""
    return f"camp_{sha256(key.encode()).hexdigest()[:20]}"


def _repeated(earlier: Campaign, campaign: Campaign) -> Campaign:
    """Return the earlier campaign with the same key. Raise DialRefused if the requests differ."""
    if earlier.request != campaign.request:
        message = f"the key belongs to another request, that of {earlier.campaign_id}; use a new key"
        raise DialRefused("idempotency_key_reused", message, 409)
    return earlier


def _find(database: sqlite3.Connection, campaign_id: str) -> Campaign | None:
    """Return the campaign with this id, within a transaction."""
    row = database.execute("SELECT document FROM campaigns WHERE campaign_id = ?", (campaign_id,)).fetchone()
    return None if row is None else to_campaign(json.loads(row[0]))


def _with_ended_calls(campaign: Campaign, database: sqlite3.Connection, now_s: float) -> Campaign:
    for index, entry in enumerate(campaign.entries):
        if entry.state is not EntryState.CALLING:
            continue
        call = find_call(database, entry.call_id)
        if call is not None and call.status.is_final:
            campaign = campaign.with_result(index, call.status, now_s)
        elif call is not None and call.status.value != entry.status:
            entries = list(campaign.entries)
            entries[index] = replace(entry, status=call.status.value)
            campaign = replace(campaign, entries=tuple(entries))
    return campaign


def _save(database: sqlite3.Connection, campaign: Campaign, now_s: float) -> None:
    row = (campaign.is_over, now_s, _to_text(campaign), campaign.campaign_id)
    database.execute(
        "UPDATE campaigns SET is_over = ?, changed_s = ?, document = ? WHERE campaign_id = ?", row
    )


def _to_text(campaign: Campaign) -> str:
    return json.dumps(to_document(campaign), ensure_ascii=False)


@asynccontextmanager
async def dialing(dialer: Dialer | None) -> AsyncIterator[None]:
    """Follow the calls of a dialer and run its campaigns, if there is one, for the length of the block."""
    if dialer is None:
        yield
        return
    running = [
        asyncio.create_task(dialer.run(), name="outbound calls"),
        asyncio.create_task(Campaigns(dialer).run(), name="campaigns"),
    ]
    try:
        yield
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        dialer.store.close()
