"""Faults on purpose for `eval_proof.py`: agents that `voiceagent eval --against` must find.

The model of the demo answers as it was trained, whatever its prompt says, so a contradiction in it shows
only with a model that reads it (`eval_page.toml`).
"""

from __future__ import annotations

from dataclasses import replace

from voiceagent.agents import Agent, tool
from voiceagent.conversation.end_of_turn.probability import SILENCES
from voiceagent.demo import front_desk
from voiceagent.demo.agent import FrontDesk
from voiceagent.demo.world import FACTS, HOTEL

MORE_SILENCE_S = 0.3
_USUAL_SILENCES = dict(SILENCES)


class Renamed(FrontDesk):
    """The front desk without a change, by another name."""


class WrongDefault(FrontDesk):
    """A front desk whose taxi comes at six, not at once, if the caller says no time."""

    @tool
    async def order_taxi(self, time: str = "six") -> str:
        """Order a taxi to the hotel. time: when it is to come, if not at once."""
        return self._noted(front_desk.order_taxi(self._random, time))


class MoreSilence(FrontDesk):
    """A front desk that ends each turn of the caller 300 ms later: the server's own table is changed."""

    def __init__(self) -> None:
        super().__init__()
        for eagerness, usual in _USUAL_SILENCES.items():
            SILENCES[eagerness] = replace(
                usual,
                certain_s=usual.certain_s + MORE_SILENCE_S,
                even_s=usual.even_s + MORE_SILENCE_S,
                open_s=usual.open_s + MORE_SILENCE_S,
            )


_TOPICS = ("Check-out", "Breakfast", "Pool", "Parking", "Taxi")
_PAGE = "\n".join(
    (
        f"You answer the telephone of the {HOTEL}. Answer in one short sentence, only by these facts.",
        *(f"{topic}: {text}" for topic, text in FACTS if topic in _TOPICS),
    )
)


class Page(Agent):
    """A front desk without tools and with a short page, for a model that reads it on two cores."""

    instructions = _PAGE


class RenamedPage(Page):
    """The same without a change, by another name."""


class Contradiction(Agent):
    """The same with a page that says two things about parking and about checking out."""

    instructions = f"{_PAGE}\nParking: free of charge for all guests.\nCheck-out: until twelve, at noon."
