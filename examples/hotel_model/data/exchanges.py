"""Questions and answers in the context of the conversation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from examples.hotel_model.data import rooms
from examples.hotel_model.data.catalogue import Aspect, Plain, Split, Topic, catalogue
from examples.hotel_model.data.room_answers import ROOM_FOLLOW_UPS, ROOM_INTENTS, Wish, answer_about_rooms
from examples.hotel_model.data.templates import expand
from voiceagent.demo.world import ROOMS, Room

DECLINES = ("only help with", "don't know")  # a refusal of a question outside the world says one

_OTHERS = 0.5


@dataclass(frozen=True)
class Context:
    """Context of the next question; `asked` is the room intent or the agent's question."""

    aspect: Aspect | None = None
    asked: str = ""
    room: Room | None = None
    nights: int | None = None
    date: str | None = None
    answer: str = ""
    cut: bool = False


@dataclass(frozen=True)
class Exchange:
    """A question (lower-case words), its canonical answer, the facts it must contain.

    follows: topic needed to understand it; "" if none, or if more than a topic is needed.
    """

    intent: str
    question: str
    answer: str
    must: tuple[str, ...]
    context: Context
    follows: str = ""


class Caller:
    """Generator of exchanges with the templates of one split. Methods are named for what the caller does.

    others: exchanges that need no history, or only a topic; half of such exchanges are drawn from them.
    """

    def __init__(self, split: Split, rng: Random, others: Sequence[Exchange] = ()) -> None:
        self.split, self.rng, self.data = split, rng, catalogue()
        self.others: defaultdict[str, list[Exchange]] = defaultdict(list)  # by the topic they follow
        for other in others:
            self.others[other.follows].append(other)
        self.topics = tuple(self.data.topics.values())
        self.aspects = tuple(aspect for topic in self.topics for aspect in topic.aspects.values())

    # Choosing what to say

    def next(self, context: Context, *, last: bool) -> Exchange:
        """Return the caller's next exchange after `context`; the last turn ends more calls."""
        if not context.answer:
            return self.alone()
        if context.cut and self.rng.random() < 0.6:
            return self.follow("goon", context)
        if last and self.rng.random() < 0.12:
            return self.talk(self.rng.choice(("thanks", "goodbye", "no")))
        if self.rng.random() < 0.06:
            return self.follow("repeat", context)
        follow_ups = self.follow_ups(context)
        if follow_ups and self.rng.random() < 0.62:
            return self.rng.choice(follow_ups)()
        return self.alone(greet=False)

    def alone(self, *, greet: bool = True) -> Exchange:
        """Return an exchange that needs no history; a greeting only if `greet`."""
        if (others := self.others[""]) and self.rng.random() < _OTHERS:
            return self.rng.choice(others)
        kind = self.rng.choices(
            ("aspect", "rooms", "talk", "decline", "unknown", "unclear"), (52, 16, 10, 16, 4, 2)
        )[0]
        if kind == "aspect":
            return self.aspect(self.rng.choice(self.aspects))
        if kind == "rooms":
            return self.room(self.rng.choice(ROOM_INTENTS))
        if kind in ("decline", "unknown"):
            return self.outside(kind)
        if kind == "unclear":
            return self.talk("unclear")
        names = [name for name in self.data.talk if name not in ("unclear", "repeat", "goon")]
        if not greet:
            names = [name for name in names if name not in ("greeting", "howareyou")]
        return self.talk(self.rng.choice(names))

    def follow_ups(self, context: Context) -> list[Callable[[], Exchange]]:
        """Return the ways to continue that need `context`, the likelier ones repeated."""
        ways: list[Callable[[], Exchange]] = []
        if context.aspect is not None:
            topic = self.data.topics[context.aspect.topic]
            others = [
                a for a in topic.aspects.values() if self.follow_templates(a) and a is not context.aspect
            ]
            ways += [lambda: self.follow_up(others)] * (2 if others else 0)
            if self.switches(context.aspect):
                ways += [lambda: self.switch(context)]
            if self.rng.random() < 0.3:
                ways += [lambda: self.correct_topic(context)]
        if context.asked:
            ways += [lambda: self.room_follow(self.rng.choice(self.room_follow_ups(context)), context)] * 3
        return ways

    # Topics

    def aspect(self, aspect: Aspect) -> Exchange:
        """Return a question about `aspect` that stands alone."""
        own, frame = aspect.own.alone(self.split), aspect.frame.alone(self.split)
        templates = frame if frame and (not own or self.rng.random() < 0.45) else own
        question = self._say(self.rng.choice(templates), self.data.topics[aspect.topic])
        return self._about(aspect, aspect.intent, self._wrapped(question))

    def follow_templates(self, aspect: Aspect) -> tuple[str, ...]:
        """Return the elliptic templates for `aspect` once its topic is known."""
        return aspect.own.following(self.split) + aspect.frame.following(self.split)

    def follow_up(self, aspects: Sequence[Aspect]) -> Exchange:
        """Return a question on one of these aspects of a known topic."""
        wanted = {_follow_intent(aspect) for aspect in aspects}
        others = [other for other in self.others[aspects[0].topic] if other.intent in wanted]
        if others and self.rng.random() < _OTHERS:
            return self.rng.choice(others)
        return self.aspect_follow(self.rng.choice(aspects))

    def any_follow_up(self) -> Exchange:
        """Return a follow-up on any topic."""
        return self.aspect_follow(self.rng.choice([a for a in self.aspects if self.follow_templates(a)]))

    def aspect_follow(self, aspect: Aspect) -> Exchange:
        """Return "And how much is it?" after another question on the same topic."""
        question = self._say(self.rng.choice(self.follow_templates(aspect)))
        return replace(self._about(aspect, _follow_intent(aspect), question), follows=aspect.topic)

    def switches(self, aspect: Aspect) -> list[Aspect]:
        """Return the same aspect of other topics that are asked for in the same way."""
        return [
            topic.aspects[aspect.name]
            for topic in self.topics
            if topic.name != aspect.topic
            and topic.names
            and aspect.name in topic.aspects
            and topic.aspects[aspect.name].frame.train
        ]

    def switch(self, context: Context) -> Exchange:
        """Return "And the bar?" after the same question about the pool."""
        assert context.aspect is not None
        aspect = self.rng.choice(self.switches(context.aspect))
        templates = self.data.switch.following(self.split)
        question = self._say(self.rng.choice(templates), self.data.topics[aspect.topic])
        return self._about(aspect, f"switch.{aspect.name}", question)

    def correct_topic(self, context: Context) -> Exchange:
        """Return "No, I meant the bar": the last question about another topic that has such an answer."""
        assert context.aspect is not None
        aspect = self.rng.choice(
            self.switches(context.aspect) or self.switches(self.data.topics["pool"].aspects["have"])
        )
        templates = self.data.rooms["correct_topic"].phrasings.following(self.split)
        question = self._say(self.rng.choice(templates), self.data.topics[aspect.topic])
        return self._about(aspect, "correct_topic", question)

    def _about(self, aspect: Aspect, intent: str, question: str) -> Exchange:
        context = Context(aspect=aspect, answer=aspect.answer)
        return Exchange(intent, question, aspect.answer, aspect.must, context)

    # Rooms

    def room(self, name: str) -> Exchange:
        """Return a question about rooms, or a booking request, that stands alone."""
        intent = self.data.rooms[name]
        template = self.rng.choice(intent.phrasings.alone(self.split))
        return self._room_exchange(name, f"room.{name}", template, Context(), wrap=True)

    def room_follow_ups(self, context: Context) -> tuple[str, ...]:
        """Return the follow-ups that make sense after `context.asked`."""
        return ROOM_FOLLOW_UPS.get(context.asked, ())

    def room_follow(self, name: str, context: Context) -> Exchange:
        """Return a follow-up or correction on rooms that needs `context`."""
        template = self.rng.choice(self.data.rooms[name].phrasings.following(self.split))
        intent = name if name.startswith("correct") else f"follow.{name}"
        return self._room_exchange(name, intent, template, context)

    def _room_exchange(
        self, name: str, intent: str, template: str, context: Context, *, wrap: bool = False
    ) -> Exchange:
        room, nights, people = self._drawn(template, context)
        date = rooms.a_date(self.rng) if "[date]" in template else context.date
        slots = {
            "room": self.rng.choice(rooms.ROOM_WORDS[room.name]) if room else "",
            "stay": self.rng.choice(rooms.STAYS[nights]) if nights else "",
            "people": self.rng.choice(rooms.PEOPLE[people]),
            "date": date or "",
            "long": self.rng.choice(rooms.LONG_STAYS),
        }
        question = self._say(template, slots=slots)
        reply = answer_about_rooms(name, context.asked, Wish(room, nights, people, date))
        after = Context(None, reply.asked, reply.room, nights, date, reply.text)
        return Exchange(intent, self._wrapped(question) if wrap else question, reply.text, reply.must, after)

    def _drawn(self, template: str, context: Context) -> tuple[Room | None, int | None, int]:
        """Return room, nights and people for the template's slots, or from the context."""
        room, nights = context.room, context.nights
        if "[room]" in template:
            room = self.rng.choice([other for other in ROOMS if other is not room])
        if "[stay]" in template:
            nights = self.rng.choice([other for other in rooms.STAYS if other != nights])
        return room, nights, self.rng.choice(tuple(rooms.PEOPLE))

    # The conversation itself, and what is outside

    def talk(self, name: str) -> Exchange:
        """Return small talk, thanks, goodbye, noise: `name` of talk.toml."""
        intent = self.data.talk[name]
        return self._plain(
            intent, f"talk.{name}", self._say(self.rng.choice(intent.phrasings.alone(self.split)))
        )

    def outside(self, name: str) -> Exchange:
        """Return a question outside the world: "decline", or about the hotel but "unknown"."""
        intent = self.data.outside[name]
        template = self.rng.choice(intent.phrasings.alone(self.split))
        slots = {key: self.rng.choice(values[self.split]) for key, values in self.data.outside_slots.items()}
        return self._plain(intent, f"outside.{name}", self._wrapped(self._say(template, slots=slots)))

    def alone_often_outside(self) -> Exchange:
        """Return an exchange that needs no history, half of the time outside the world or unknown."""
        if self.rng.random() < 0.5:
            return self.outside(self.rng.choice(("decline", "unknown")))
        return self.alone()

    def follow(self, name: str, context: Context) -> Exchange:
        """Return "Say that again" or "go on", answered with the whole last answer."""
        templates = self.data.talk[name].phrasings.following(self.split)
        question = self._say(self.rng.choice(templates))
        return Exchange(
            f"follow.{name}", question, context.answer, (context.answer,), replace(context, cut=False)
        )

    def _plain(self, intent: Plain, name: str, question: str) -> Exchange:
        return Exchange(name, question, intent.answer, intent.must, Context(answer=intent.answer))

    # Words

    def _say(self, template: str, topic: Topic | None = None, slots: dict[str, str] | None = None) -> str:
        values = {
            "day": self.rng.choice(rooms.DAYS),
            "time": self.rng.choice(rooms.TIMES),
            "people": self.rng.choice(rooms.PEOPLE[self.rng.choice((1, 2, 3, 4, 5, 6))]),
        }
        if topic is not None:
            values["x"] = self.rng.choice(topic.names or ("that",))
            values["thing"] = self.rng.choice(topic.things or ("that",))
        return expand(template, self.rng, self.data.lexicon, values | (slots or {}))

    def _wrapped(self, question: str) -> str:
        """Return the question, often with words before it, sometimes after it."""
        if self.rng.random() < 0.28:
            question = f"{self.rng.choice(self.data.lexicon['before'])} {question}"
        if self.rng.random() < 0.1:
            question = f"{question} {self.rng.choice(self.data.lexicon['after'])}"
        return question


def _follow_intent(aspect: Aspect) -> str:
    return f"follow.{aspect.name}"
