"""One phone call: connects a provider's events to the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import ref

import structlog

from audio.pcm import Samples
from audio.pcm import decode as decode_sound
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.session.agent import GREETING_SILENCE_S, AnsweredBy, OutboundDetails
from voiceagent.session.call import Call, InputOverflow
from voiceagent.session.references import weak_callback
from voiceagent.telemetry.log import Personal
from voiceagent.transports.connection import Ending
from voiceagent.transports.telephony.call_start import MAX_DATA_VALUE, opening_items, phone_settings
from voiceagent.transports.telephony.control import CallControl, ControlError
from voiceagent.transports.telephony.keys import KeyReceiver, KeySender
from voiceagent.transports.telephony.line_tools import LineTools
from voiceagent.transports.telephony.outbound.colleague import BRIEFED, Colleague
from voiceagent.transports.telephony.outbound.dialer import Dialer
from voiceagent.transports.telephony.outbound.greeting_listener import GreetingListener
from voiceagent.transports.telephony.outbound.warm_transfer import Briefing, WarmTransfer
from voiceagent.transports.telephony.phone_client import PhoneClient
from voiceagent.transports.telephony.provider import Control
from voiceagent.transports.telephony.stream.arrival import ReorderBuffer
from voiceagent.transports.telephony.stream.keypad import InbandKeys
from voiceagent.transports.telephony.stream.serializer import (
    START_S,
    TRACEPARENT,
    KeyPressed,
    LineError,
    MarkPlayed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Serializer,
    Started,
    Stopped,
    Unknown,
)

log = structlog.get_logger()

MAX_PASSED_OVER = 16
"""Maximum number of reported errors and unknown events per call. Providers add events without breaking the
protocol, but a call that keeps reporting errors is useless.
"""


@dataclass(frozen=True, slots=True)
class LineOptions:
    """Settings shared by all calls of a provider.

    transfers: destination names and their numbers. tools: let the model hang up and transfer.
    max_dtmf_digits: keypad presses per call. outbound: the outbound call, None for inbound calls.
    inband_keys: also listen for keys in the audio, as the line may not report them. dialer: of warm
    transfers; None for none. connecting: phrase for a caller who would wait for a colleague in silence, ""
    for none. briefing: the other end is a colleague who is briefed and then connected to a caller.
    """

    provider: str
    control: Control
    transfers: Mapping[str, str]
    tools: bool
    max_dtmf_digits: int
    outbound: OutboundDetails | None = None
    inband_keys: bool = False
    dialer: Dialer | None = None
    connecting: str = ""
    briefing: Briefing | None = None


class PhoneCall:
    """Handler of a phone connection: handles the provider's messages.

    known: call parameters from the connection's URL. end: ends the connection.
    """

    def __init__(
        self,
        call_id: str,
        call: Call,
        client: PhoneClient,
        line: LineOptions,
        known: Mapping[str, str],
        end: Callable[[Ending], None],
    ) -> None:
        self._control: CallControl | None = None
        self._warm: WarmTransfer | None = None
        self._end = end
        self._log = log.bind(call=call_id, provider=line.provider)
        self._call = call
        self._client = client
        self._line = line
        self._known = known
        self._started = False
        self._order = ReorderBuffer()
        self._keys = KeyReceiver(call, line.max_dtmf_digits, briefing=line.briefing is not None)
        outbound = line.outbound is not None and line.briefing is None
        self._greeting = GreetingListener(call_id) if outbound else None
        self._colleague: Colleague | None = None
        if line.briefing is not None:
            self._colleague = Colleague(call_id, line.briefing.call.brief, weak_callback(call.post))
        self._push_audio: Callable[[Samples], None] = call.hear
        self._input_format = call.settings.input_format  # that of the stream, once it has started
        self._passed_over = 0
        self._loop = asyncio.get_running_loop()
        no_start = Ending(f"no start came within {START_S:.0f} s", "not_connected", 1002)
        self._start_timer = self._loop.call_later(START_S, end, no_start)

    def begin(self) -> None:
        """Do nothing: the call begins with the provider's start message."""

    def take(self, message: Message) -> None:
        """Handle a message from the provider. Invalid messages end the call."""
        try:
            event = self._client.serializer.decode(message)
            if isinstance(event, Media):  # nearly every message
                self._hear(event)
            else:
                self._take(event)
        except ProtocolError as error:
            self._end(Ending(str(error), "invalid_message", 1002))
        except InputOverflow as overflow:
            self._end(Ending(str(overflow), "too_much_input", 1008))

    def check_stream(self, started: Started) -> None:
        """Raise ProtocolError unless another stream of this call can continue it: with the same formats."""
        if started.input_format is not self._input_format or not self._started:
            raise ProtocolError(f"the call's stream has the format {self._input_format.name}")

    def use_stream(self, serializer: Serializer) -> int:
        """Continue on another stream of the same call. Return the number of frames that were sent again."""
        self._order.restart()
        return self._client.use_stream(serializer)

    def close(self) -> None:
        """Cancel the timers, and the calls of colleagues who are no longer needed."""
        if self._warm is not None:
            self._warm.leave()
        self._start_timer.cancel()
        self._keys.close()
        for listener in (self._greeting, self._colleague):
            if listener is not None:
                listener.close()

    async def hang_up(self, ending: Ending) -> None:
        """Hang up through the provider's API and, where the protocol has one, by a message on the stream. A
        colleague who has heard the brief is connected to the caller instead.
        """
        briefing = self._line.briefing
        if briefing is not None and ending.reason == BRIEFED and await briefing.join(self._control):
            return
        if self._control is not None:
            try:
                await self._control.hang_up()
            except ControlError as error:
                self._log.warning("hang_up_failed", reason=str(error))
        # also if the API failed: some providers hang up on a stream message
        goodbye = self._client.serializer.hang_up()
        if goodbye is not None:
            self._client.outbox.put(goodbye)

    def _take(self, event: PhoneEvent | None) -> None:
        match event:
            case MarkPlayed(name):
                self._played(name)
            case Started():
                self._start(event)
            case KeyPressed(digit):
                self._keys.on_reported(digit)
            case Stopped(reason):
                self._end(Ending(reason, "caller_hung_up", 1000, hang_up=False))
            case Unknown(name):
                self._pass_over("unknown_event", name[:80])
            case LineError(reported):
                self._pass_over("line_error", reported)
            case None:
                pass

    def _start(self, started: Started) -> None:
        if self._started:
            raise ProtocolError("a second start came; a call has one")
        self._started = True
        outbound = self._line.outbound
        if outbound is not None and not started.call_id:
            started = replace(started, call_id=outbound.line_call)
        self._control = self._line.control(started)
        # of an outbound call, this server's own data count for more than what came over the line
        parameters = {**self._known, **started.parameters, **(self._known if outbound is not None else {})}
        self._call.join_trace(parameters.pop(TRACEPARENT, ""))
        started = replace(started, parameters=parameters)
        line_call, known = started.call_id[:MAX_DATA_VALUE], Personal(dict(started.parameters))
        self._log.info("phone_call_started", line_call=line_call, parameters=known)
        self._call.handle(ev.SettingsChanged(phone_settings(self._call.settings, started)))
        self._input_format = started.input_format
        for item in opening_items(started.parameters):
            self._call.handle(ev.ItemCreated(item))
        if self._line.inband_keys:
            self._keys.inband = InbandKeys(started.input_format.rate_hz)
        line = self._line_tools(started)
        self._call.identify(started.parameters, line, line_call)
        if self._line.tools:
            self._call.offer(line.offered())
        self._start_timer.cancel()
        if self._colleague is not None and self._line.briefing is not None:
            self._begin_briefing(self._colleague, self._line.briefing)
            return
        self._call.begin()
        if self._greeting is not None and self._greeting.wanted:
            self._client.on_other = self._greeting.on_notification
            self._push_audio = weak_callback(self._hear_greeting)

    def _begin_briefing(self, colleague: Colleague, briefing: Briefing) -> None:
        """Begin the call with a colleague, who is briefed once their greeting was heard."""
        self._call.begin(greet=False)
        # the colleague's words need no answer of the model
        self._call.post(ev.TurnsClaimed(True, max_silence_s=GREETING_SILENCE_S))
        self._client.on_other = colleague.on_notification
        self._push_audio = weak_callback(self._hear_colleague)
        colleague.start(briefing, weak_callback(self._on_machine))

    def _on_machine(self, kind: AnsweredBy) -> None:
        """End the call to a colleague for whom a machine answered."""
        self._end(Ending(f"a {kind} answered for the colleague", "agent_hung_up", 1000))

    def _hear_colleague(self, samples: Samples) -> None:
        self._call.hear(samples)
        if self._colleague is not None:
            self._colleague.push_audio(samples, self._call.settings.input_format.rate_hz)

    def _line_tools(self, started: Started) -> LineTools:
        rate_hz, mute = started.output_format.rate_hz, weak_callback(self._keys.mute)
        keys = KeySender(self._control, self._client.fill, rate_hz, started.frame_s, mute)
        call = ref(self._call)

        def heard() -> str:
            alive = call()
            items = () if alive is None else reversed(alive.items)
            said = (item for item in items if isinstance(item, MessageItem) and item.role == "user")
            return next((item.text for item in said if not item.by_line), "")

        leave = weak_callback(self._leave)
        outbound = self._line.outbound
        if outbound is not None:
            briefing = self._line.briefing is not None
            outbound = replace(outbound, answer=self._greeting, briefing=briefing)
        dialer, provider = self._line.dialer, self._line.provider
        if self._control is not None and dialer is not None and provider in dialer.table.numbers:
            self._warm = WarmTransfer(dialer, provider, started.call_id)
        announce = weak_callback(self._announce_transfer)
        return LineTools(
            self._control, self._line.transfers, leave, outbound, keys, heard, self._warm, announce
        )

    def _announce_transfer(self) -> None:
        """Speak the phrase of `LineOptions.connecting`, unless the caller knows of the transfer or hears that
        the line is alive.
        """
        has_music = any(sound != TYPING for sound in self._call.background_sounds)
        if self._line.connecting.strip() and not has_music and not agent_spoke_last(self._call.items):
            self._call.post(ev.SpeechRequested(self._line.connecting))

    def _hear(self, media: Media) -> None:
        number = media.number
        in_order = (media.payload,) if number is None else self._order.push(number, media.payload)
        for payload in in_order:
            try:
                samples = decode_sound(payload, self._input_format)
            except ValueError as error:
                raise ProtocolError(f"sound cannot be read: {error}") from error
            self._push_audio(samples)
            if self._keys.inband is not None:
                for digit in self._keys.inband.push(samples, self._loop.time()):
                    self._keys.press(digit)

    def _hear_greeting(self, samples: Samples) -> None:
        """Push audio while it is not known who answered."""
        self._call.hear(samples)
        if self._greeting is None or self._greeting.is_over:
            self._client.on_other, self._push_audio = None, self._call.hear
        else:
            self._greeting.push_audio(samples, self._call.settings.input_format.rate_hz)

    def _played(self, name: str) -> None:
        played = self._client.played(name)
        if played is not None:
            played_s = played.samples / self._call.settings.output_format.rate_hz
            self._call.played(played.response_id, played_s, all_along=True)

    # ---- the end

    def _leave(self, reason: str, hang_up: bool) -> None:
        self._end(Ending(reason, "agent_hung_up" if hang_up else "transferred", 1000, hang_up))

    def _pass_over(self, what: str, name: str) -> None:
        self._passed_over += 1
        self._log.warning(what, name=name)
        if self._passed_over > MAX_PASSED_OVER:
            message = (
                f"more than {MAX_PASSED_OVER} errors and events of unknown kinds came, the last is {name!r}"
            )
            raise ProtocolError(message)


TYPING = "typing"
"""The sound of typing, which does not tell a caller that they are being connected."""


def agent_spoke_last(items: Sequence[Item]) -> bool:
    """Return True if the last words in a call are the agent's."""
    said = (item for item in reversed(items) if isinstance(item, MessageItem) and item.text.strip())
    last = next((item for item in said if not item.by_line), None)
    return last is not None and last.role == "assistant"
