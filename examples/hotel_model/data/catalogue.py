"""Topics with aspects, and topicless intents, read from `intents/*.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from examples.hotel_model.data import rooms

Split = Literal["train", "heldout"]
_TOPIC_FILES = ("facilities", "services", "desk")


@dataclass(frozen=True)
class Phrasings:
    """Templates of one intent: for training and held out, standing alone and as a follow-up."""

    train: tuple[str, ...] = ()
    heldout: tuple[str, ...] = ()
    follow_train: tuple[str, ...] = ()
    follow_heldout: tuple[str, ...] = ()

    def alone(self, split: Split) -> tuple[str, ...]:
        """Return the templates that need no history."""
        return self.train if split == "train" else self.heldout

    def following(self, split: Split) -> tuple[str, ...]:
        """Return the templates that need the history."""
        return self.follow_train if split == "train" else self.follow_heldout


@dataclass(frozen=True)
class Aspect:
    """One question about a topic and its answer; `must` holds facts, "|" between alternatives."""

    topic: str
    name: str
    answer: str
    must: tuple[str, ...]
    own: Phrasings
    frame: Phrasings

    @property
    def intent(self) -> str:
        """Name of the intent, such as "pool.hours"."""
        return f"{self.topic}.{self.name}"


@dataclass(frozen=True)
class Topic:
    """A topic of callers: `names` fill [x] ("the pool"), `things` [thing] ("a pool")."""

    name: str
    names: tuple[str, ...]
    things: tuple[str, ...]
    aspects: Mapping[str, Aspect]


@dataclass(frozen=True)
class Plain:
    """An intent without topic: small talk, or one with a computed answer (then `answer` is "")."""

    name: str
    answer: str
    must: tuple[str, ...]
    phrasings: Phrasings


@dataclass(frozen=True)
class Catalogue:
    """Content of the intent files."""

    lexicon: Mapping[str, tuple[str, ...]]
    topics: Mapping[str, Topic]
    switch: Phrasings
    rooms: Mapping[str, Plain]
    talk: Mapping[str, Plain]
    outside: Mapping[str, Plain]
    outside_slots: Mapping[str, Mapping[Split, tuple[str, ...]]]

    def phrasings(self) -> Iterator[Phrasings]:
        """Yield the phrasings of all intents; a frame that fits several topics is repeated for each."""
        for topic in self.topics.values():
            for aspect in topic.aspects.values():
                yield from (aspect.own, aspect.frame)
        yield self.switch
        for group in (self.rooms, self.talk, self.outside):
            yield from (intent.phrasings for intent in group.values())

    def templates(self, split: Split) -> tuple[str, ...]:
        """Return all distinct templates of a split, with and without history."""
        phrasings = list(self.phrasings())
        return tuple(sorted({t for each in phrasings for t in (*each.alone(split), *each.following(split))}))

    def slot_values(self, *splits: Split) -> dict[str, tuple[str, ...]]:
        """Return the values of each slot; of slots outside the world, only those of `splits`."""

        def distinct(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
            return tuple(sorted({word for group in groups for word in group}))

        return {
            "x": distinct(topic.names for topic in self.topics.values()),
            "thing": distinct(topic.things for topic in self.topics.values()),
            "room": distinct(rooms.ROOM_WORDS.values()),
            "stay": distinct(rooms.STAYS.values()),
            "people": distinct(rooms.PEOPLE.values()),
            "long": rooms.LONG_STAYS,
            "day": rooms.DAYS,
            "time": rooms.TIMES,
            "date": ("friday", "the third of may"),
        } | {name: distinct(values[split] for split in splits) for name, values in self.outside_slots.items()}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "intents" / f"{name}.toml").read_text())


def _phrasings(table: Mapping[str, Any]) -> Phrasings:
    fields = ("train", "heldout", "follow_train", "follow_heldout")
    return Phrasings(**{field: tuple(table.get(field, ())) for field in fields})


def _plain(name: str, table: Mapping[str, Any]) -> Plain:
    return Plain(name, table.get("answer", ""), tuple(table.get("must", ())), _phrasings(table))


def _fitting(frame: Phrasings, things: tuple[str, ...], names: tuple[str, ...]) -> Phrasings:
    """Return the frame without the templates whose slots the topic cannot fill."""

    def fits(template: str) -> bool:
        return ("[thing]" not in template or bool(things)) and ("[x]" not in template or bool(names))

    return Phrasings(
        tuple(filter(fits, frame.train)),
        tuple(filter(fits, frame.heldout)),
        frame.follow_train,
        frame.follow_heldout,
    )


def _topic(name: str, table: dict[str, Any], frames: Mapping[str, Phrasings]) -> Topic:
    names, things = tuple(table.pop("names")), tuple(table.pop("things"))
    aspects = {
        key: Aspect(
            name,
            key,
            aspect["answer"],
            tuple(aspect["must"]),
            _phrasings(aspect),
            _fitting(frames.get(key, Phrasings()), things, names),
        )
        for key, aspect in table.items()
    }
    return Topic(name, names, things, aspects)


@cache
def catalogue() -> Catalogue:
    """Return the catalogue of the packaged intent files, read once."""
    frames = {name: _phrasings(table) for name, table in _read("frames").items()}
    outside = _read("outside")
    outside["decline"] |= {"answer": outside["answer"], "must": ["only help with"]}
    outside["unknown"] |= {"answer": outside["unknown_answer"], "must": ["don't know"]}
    return Catalogue(
        lexicon={name: tuple(values) for name, values in _read("lexicon").items()},
        topics={
            name: _topic(name, table, frames) for file in _TOPIC_FILES for name, table in _read(file).items()
        },
        switch=frames["switch"],
        rooms={name: _plain(name, table) for name, table in _read("rooms").items()},
        talk={name: _plain(name, table) for name, table in _read("talk").items()},
        outside={name: _plain(name, outside[name]) for name in ("decline", "unknown")},
        outside_slots={
            name: {"train": tuple(table["train"]), "heldout": tuple(table["heldout"])}
            for name, table in outside["slots"].items()
        },
    )
