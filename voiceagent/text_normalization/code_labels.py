"""What shows that figures are a code or a number to dial: the words before and after them, by language.

From the figures backwards, words are passed over that may stand between a label and its number ("is", "your",
"ending in"), until a label is found, or a word that is neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Label = Literal["code", "reference", "place", "distant"]
"""A code is read figure by figure from two figures on, a reference from three, what stands at a distance from
its label from four. So is a place (a room, a flight) from `place_digits` on; its zero is "oh" in English."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a language, all in lower case.

    codes, references, places: words before the figures. endings: ends of compound words that are codes. verbs:
    words after which figures are a code, as in "enter 482913". between: words between label and figures.
    loose: such words that may also begin a count, as in "an order for 250 chairs", so that only a code may
    stand before them. back: words that refer to a label of the sentence before. counted: words after figures that are counted,
    as in "1042 people", so that they are no code.
    place_digits: a place with fewer figures is a number.
    """

    codes: frozenset[str]
    references: frozenset[str]
    places: frozenset[str]
    verbs: frozenset[str]
    between: frozenset[str]
    loose: frozenset[str]
    back: frozenset[str]
    counted: re.Pattern[str]
    endings: tuple[str, ...] = ()
    place_digits: int = 3

    def kind(self, word: str) -> Label | None:
        """Return the kind of label that a word is, None for other words."""
        if word in self.codes or (self.endings and word.endswith(self.endings)):
            return "code"
        if word in self.references:
            return "reference"
        return "place" if word in self.places else None


def _labels(*, counted: str, endings: tuple[str, ...] = (), place_digits: int = 3, **words: str) -> Labels:
    sets = {name: frozenset(each.split()) for name, each in words.items()}
    following = re.compile(rf"[ \u00a0-]?(?:{counted})(?!\w)", re.IGNORECASE)
    return Labels(**sets, counted=following, endings=endings, place_digits=place_digits)


_LABELS = {
    "en": _labels(
        codes="code codes passcode passcodes password pin pins otp cvv cvc zip postcode iban digits ending ends id "
        "ids extension ext phone telephone tel mobile cell fax hotline landline username token tan key "
        "combination swift whatsapp passkey",
        references="number numbers no nr reference ref confirmation account acct card order booking reservation "
        "case ticket invoice tracking claim policy serial record locator customer member membership "
        "registration licence license plate parcel shipment transaction check cheque model part sku vin "
        "prescription rx patient receipt certificate passport bin batch quote incident request return",
        places="room rooms suite gate flight flights apartment apt unit flat locker bus highway route interstate "
        "train terminal bay building house office channel bed ward cabin seat aisle",
        verbs="dial call text enter type press input key quote ring phone redial contact",
        between="is are was it it's its that that's this the a an your my our his her their as now again number "
        "numbers no you here here's i've i sent we we've texted emailed him them reads new same following "
        "last four two three six first one be will should please also still just reach me us back "
        "called listed shown below above confirmed",
        loose="of in with for to on at by into and",
        back="it it's that that's this here here's again repeat",
        counted="people|persons|guests|points?|dollars?|euros?|pounds?|cents?|percent|%|miles?|kilomet\\w+|met(?:er|re)s?"
        "|hours?|minutes?|mins?|seconds?|days?|weeks?|months?|years?|items?|times|rooms?|seats?|orders?|users?"
        "|customers?|nights?|units?|pieces?|euro|bucks|million|thousand|steps|calories|words|pages|tickets"
        "|square|copies|employees|callers?|visitors?|members|students|residents|votes|jobs",
    ),
    "de": _labels(
        codes="code pin tan otp cvv passwort kennwort kennung iban plz id durchwahl telefon tel fax handy mobil "
        "hotline endziffern ziffern notruf geheimzahl rückruf whatsapp token endet enden endend",
        references="nummer nr referenz konto karte kreditkarte bestellung buchung reservierung auftrag vorgang ticket "
        "rechnung fall police vertrag sendung paket kunde aktenzeichen bankkarte girokonto ec",
        places="flug zimmer raum gate wohnung",
        verbs="wähle wählen rufen rufe anrufen geben gib tippen tippe eingeben",
        between="ist sind lautet lauten war die der das den dem ihr ihre ihrer ihren ihrem mein meine meiner unser "
        "unsere sie bitte es also hier nochmal noch einmal wie folgt neue neuer nummer nr habe ihnen gesendet "
        "geschickt sms jetzt uns erreichen ich wir mich auch direkt letzten vier heißt einfach",
        loose="mit auf unter in per zum vom für im am als an aus von zur",
        back="sie er es hier nochmal lautet",
        counted="leute|personen|gäste[n]?|punkte[n]?|euro|dollar|prozent|%|kilomet\\w+|meter[n]?|stunden?|minuten?"
        "|sekunden?|tagen?|tage|wochen?|monate[n]?|jahre[n]?|artikel|mal|zimmer|plätze[n]?|nächte[n]?|stück"
        "|franken|bestellungen|kunden|uhr|cent|seiten|schritte|kalorien|mitarbeiter",
        endings=("code", "nummer", "pin", "tan", "kennung", "-id", "passwort", "telefon", "ziffern", "leitzahl"),
        place_digits=4,
    ),
    "es": _labels(
        codes="código codigo códigos pin clave contraseña otp cvv postal cp iban dígitos cifras terminada terminado "
        "termina acabada acabado acaba extensión ext teléfono telefono tel tlf móvil fax celular whatsapp id dni "
        "token",
        references="número numero núm nº n.º n referencia ref localizador cuenta tarjeta pedido reserva factura "
        "cliente expediente seguimiento ticket billete póliza confirmación envío paquete orden caso",
        places="vuelo puerta habitación apartamento",
        verbs="marque marca marcar introduzca introduce introducir teclee teclea digite ingrese llame llama llámenos "
        "llamarnos llamar escriba escribe",
        between="es son era el la los las su sus mi tu nuestro nuestra número numero que le hemos he enviado mandado "
        "aquí está siguiente nuevo nueva favor ahora otra vez sms últimas últimos cuatro lo como al",
        loose="de del en con a por y para",
        back="es aquí repito",
        counted="personas?|huéspedes|puntos?|euros?|dólares|pesos|por ciento|%|kilómetros?|metros?|horas?|minutos?"
        "|segundos?|días?|semanas?|meses|años?|artículos?|veces|habitaciones|plazas|noches|unidades|céntimos"
        "|pedidos|clientes|invitados|libras|páginas|entradas",
        place_digits=4,
    ),
    "fr": _labels(
        codes="code pin otp cvv iban postal téléphone tél fax portable mobile chiffres terminant poste",
        references="numéro numero n° référence réf compte carte commande réservation dossier facture client",
        places="vol porte", verbs="composez appelez tapez saisissez entrez",
        between="est sont le la les votre mon notre se finissant suivant voici", loose="de du par en au",
        back="est voici", counted="personnes?|euros?|points?|heures?|minutes?|jours?|mois|ans?|clients?|mètres?", place_digits=4,
    ),
    "it": _labels(
        codes="codice pin otp cvv iban cap telefono tel fax cellulare cifre password interno",
        references="numero n° nr riferimento conto carta ordine prenotazione pratica fattura cliente",
        places="volo uscita", verbs="chiami componga digiti inserisca",
        between="è sono il la le i suo sua mio nostro che termina seguente ecco", loose="di del in con",
        back="è ecco", counted="persone|euro|punti|ore|minuti|giorni|mesi|anni|clienti|metri", place_digits=4,
    ),
    "nl": _labels(
        codes="code pin otp iban postcode telefoon tel fax cijfers wachtwoord toestel",
        references="nummer nr referentie rekening kaart bestelling boeking reservering factuur klant",
        places="vlucht gate", verbs="bel kies toets",
        between="is zijn de het uw mijn onze die eindigt dat hier", loose="van op met", back="is hier",
        counted="mensen|personen|gasten|euro|punten|uur|uren|minuten|dagen|maanden|jaar|klanten|meter",
        endings=("code", "nummer"), place_digits=4,
    ),
    "pt": _labels(
        codes="código pin otp iban postal telefone tel fax celular dígitos senha ramal",
        references="número nº referência conta cartão pedido reserva fatura cliente",
        places="voo portão", verbs="ligue disque digite insira",
        between="é são o a os as seu sua meu nosso final terminado que segue", loose="de do da em com",
        back="é", counted="pessoas|euros?|reais|pontos|horas?|minutos?|dias?|meses|anos?|clientes|metros?", place_digits=4,
    ),
}  # fmt: skip
_SAYS = frozenset("is are was be reads ist sind lautet es son era será est è é : =".split())
"""Words before a code whose label may have an attribute: "the code for the front door is 4821"."""
_STRANGERS = 5
_STEPS = 12
"""Words looked back at: "the code that we have just sent to your phone: 482913"."""
_TOKEN = re.compile(r"(?:n\.º|[^\W\d_]+(?:['’-][^\W\d_]+)*)|[.!?…]+(?=\s)|:|=|\d+|[º°#%€$£]")
_MASK = re.compile(r"(?:[•xX]|\*(?=[*\s-])){3,}[\s*-]*$|[•xX]{2,}[\s-]*$|(?:^|\s)(?:\.{2,}|…)\s?$")
"""What stands for hidden figures: "•••• 4242", "xxxx-4242"."""
_SIGN = re.compile(r"(?:\#|№|\bNo\.|\bNr\.|n\.º|nº)[\s*_]*$")
_COPULAS = re.compile(
    r"\W{0,4}\s*(?:is|was|will be|as|ist|lautet|als|es|será|como|est|è|é)\s+(?P<rest>[^.,;!?\n]{1,60})",
    re.IGNORECASE,
)


def label_before(before: str, after: str, language: str) -> Label | None:
    """Return the kind of label that figures between two pieces of text have, None for other figures."""
    labels = _LABELS.get(language)
    if labels is None:
        return None
    if _MASK.search(before[-24:]):
        return "code"
    if labels.counted.match(after):
        return None
    return _walk_back(before, labels) or _label_after(after, labels)


def _walk_back(before: str, labels: Labels) -> Label | None:
    refers_back = before.rstrip(" *_`\"“„«'")[-1:] == "\n"
    loose = says = False
    strangers = 0
    tokens = _TOKEN.findall(before.lower())[-_STEPS:]
    for steps, token in enumerate(reversed(tokens)):
        if token[0] in ".!?…":
            if not refers_back and not _is_abbreviation(tokens[: -steps - 1], labels):
                return None
            continue
        kind = labels.kind(token)
        if kind and not loose and not strangers:
            return kind
        if kind == "code":
            return "distant"
        if token in labels.verbs and steps < 4:
            return "reference"
        refers_back = refers_back or token in labels.back
        loose = loose or token in labels.loose
        says = says or token in _SAYS
        if token not in labels.between and token not in labels.loose and token not in "#º°:=":
            strangers += 1
        if strangers > (_STRANGERS if says else 0):
            return None
    return None


def _is_abbreviation(tokens: list[str], labels: Labels) -> bool:
    """Whether a full stop belongs to the label before it: "tel.", "ext."."""
    return bool(tokens) and len(tokens[-1]) < 5 and labels.kind(tokens[-1]) is not None


def _label_after(after: str, labels: Labels) -> Label | None:
    """Find a label as in "482913 is your login code"."""
    found = _COPULAS.match(after)
    if not found:
        return None
    words = re.findall(r"[^\W\d_]+", found["rest"].lower())[:5]
    if not words or words[0] not in labels.between:
        return None
    return "code" if any(labels.kind(word) == "code" for word in words) else None


def has_number_sign(before: str) -> bool:
    """Whether the text ends in a sign for "number", as in "#4821"."""
    return _SIGN.search(before[-8:]) is not None


def place_digits(language: str) -> int:
    """Return the number of figures from which on a place is read figure by figure."""
    labels = _LABELS.get(language)
    return labels.place_digits if labels else 3
