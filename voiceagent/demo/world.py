"""The world of the demo model: the front desk of one fictional hotel, as data.

Facts are written the way they are spoken, numbers as words, because the answers are spoken and
the recognizer delivers words. `system_prompt` renders the page the model reads before every call:
static, so that every engine caches it once. The answers in `intents/` repeat these facts; a test
keeps the two together.
"""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words

HOTEL = "Lakeside Hotel"


def spoken_number(value: int) -> str:
    """Return `value` in words as in the answers: 120 is "one hundred and twenty".

    Raises ValueError outside 0..9,999.
    """
    if not 0 <= value <= 9_999:
        raise ValueError(f"spoken_number: {value} is outside 0..9999")
    return (in_words(value, find_language("en")) or "").replace("-", " ")


@dataclass(frozen=True)
class Room:
    """A type of room: name, price of a night in dollars, number of people, features."""

    name: str
    price: int
    people: int
    features: str

    @property
    def people_spoken(self) -> str:
        """Number of people in words: "one person", "two people"."""
        return "one person" if self.people == 1 else f"{spoken_number(self.people)} people"

    def total(self, nights: int) -> str:
        """Return the price of `nights` nights in words, without the word dollars."""
        return spoken_number(self.price * nights)


ROOMS = (
    Room("single room", 90, 1, "one bed and a view of the street"),
    Room("double room", 120, 2, "one large bed and a view of the garden"),
    Room("family room", 170, 4, "one large bed, two small beds and a view of the garden"),
    Room("suite", 250, 2, "one large bed, a sofa, a balcony and a view of the lake"),
)

MAX_PRICED_STAY = 4  # nights; from the next one on a colleague makes the price

FACTS: tuple[tuple[str, str], ...] = (
    (
        "Address",
        "twelve Mill Street in Brookfield, on the lake. Phone five five five, zero one four two. "
        "Email desk at lakeside hotel dot com.",
    ),
    (
        "Check-in",
        "from three in the afternoon, from noon if the room is ready, no charge. Front desk open "
        "day and night. Bring a passport or identity card, and a credit card.",
    ),
    ("Check-out", "until eleven in the morning. Late check-out until two, for thirty dollars."),
    (
        "Payment",
        "cash and all major credit cards, no checks, at check-out. Fifty dollars are held on the "
        "card at check-in. Invoice at check-out.",
    ),
    ("Cancellation", "free until two days before arrival, then one night."),
    (
        "Discounts",
        "ten percent off from five nights on. Groups of ten people or more get an offer from a colleague.",
    ),
    (
        "Children",
        "free under six in their parents' room. A crib is free, an extra bed thirty dollars a night.",
    ),
    (
        "Breakfast",
        "buffet from seven to ten thirty in the garden room on the ground floor, fifteen dollars "
        "a person, free under six. Vegetarian, vegan and gluten free food. Breakfast to go: ask "
        "the evening before.",
    ),
    (
        "Restaurant",
        "ground floor, behind the lobby, dinner from six to ten, closed on Mondays. A main dish "
        "is about twenty five dollars. Fish, steak, pasta, two vegetarian dishes.",
    ),
    (
        "Bar",
        "on the roof, sixth floor, from five to midnight. Happy hour from five to seven, drinks "
        "at half price.",
    ),
    ("Room service", "from seven in the morning to eleven at night, five dollars extra."),
    (
        "Pool",
        "heated, indoor, ground floor past the elevators, from eight in the morning to nine at "
        "night, free. Children with an adult. Towels on the shelf by the pool.",
    ),
    ("Gym", "basement, next to the laundry, day and night with the room key, free."),
    (
        "Spa",
        "fifth floor, from ten to eight, twenty dollars a day, sauna and steam room. A massage is"
        " seventy dollars for one hour.",
    ),
    (
        "Parking",
        "garage under the hotel, entry from Mill Street, twenty dollars a night. Charging an "
        "electric car ten dollars a night.",
    ),
    (
        "Airport shuttle",
        "every hour from six in the morning to ten at night, eighteen dollars a person, thirty minutes.",
    ),
    ("Taxi", "ten minutes to come, about ten dollars to the station, forty to the airport."),
    (
        "Getting around",
        "train station ten minutes on foot, down Mill Street. Bus number five across the street "
        "goes downtown every fifteen minutes. Bicycles twelve dollars a day.",
    ),
    (
        "Nearby",
        "the lake, the old mill, the glass museum. Supermarket and pharmacy across the street, "
        "from eight to nine.",
    ),
    ("Wi-Fi", "free, network Lakeside Guest, password on the key card."),
    (
        "In every room",
        "air conditioning and heating, control next to the door; television with sixty channels; "
        "fridge with two free bottles of water; kettle with free tea and coffee; hair dryer in "
        "the bathroom; safe and iron in the closet. Only suites have a balcony. The garden side "
        "is quiet.",
    ),
    (
        "Front desk",
        "keeps luggage for free, lends chargers and adapters, gives toothbrushes, razors and "
        "soap, prints for ten cents a page, keeps lost things three months, makes a new key for "
        "an identity card. Rooms are cleaned between nine and two.",
    ),
    ("Laundry", "twelve dollars a bag, brought before nine, ready at six."),
    (
        "Meeting room",
        "first floor, twenty people, screen and projector, one hundred and fifty dollars a day.",
    ),
    ("Pets", "dogs and cats welcome, twenty five dollars a stay, not in the restaurant."),
    ("Smoking", "only on the terrace."),
    (
        "Access",
        "step free, two elevators right of the front desk, two double rooms made for wheelchairs."
        " Cash machine in the lobby.",
    ),
    ("Languages", "you speak English; some colleagues speak Spanish and French."),
)

_ROLE = f"""You are the voice assistant at the front desk of the {HOTEL}.
Answer in one to three short spoken sentences, numbers as words.
You can't book or see bookings: note the request, a colleague will call to confirm it.
If a question is not about the hotel, say that you can only help with the {HOTEL}.
If you did not understand, ask the caller to say it again. In an emergency callers call nine one one."""


def system_prompt() -> str:
    """Return the static page of instructions and facts that precedes every conversation."""
    rooms = " ".join(
        f"The {room.name}: {room.features}, {room.people_spoken}, "
        f"{spoken_number(room.price)} dollars a night."
        for room in ROOMS
    )
    facts = "\n".join(f"{topic}: {text}" for topic, text in FACTS)
    return f"{_ROLE}\n\nRooms: {rooms}\n{facts}"
