"""Words by which callers spell, confirm and give up, and the agent's own phrases, for each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def _pairs(text: str) -> dict[str, str]:
    """Return a table from a text such as "dot=. at=@"; "_" in a key is a space."""
    pairs = (pair.split("=", 1) for pair in text.split())
    return {key.replace("_", " "): value for key, value in pairs}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in text.split(", "))


@dataclass(frozen=True, slots=True)
class Prompts:
    """The agent's phrases. `{}` stands for what was captured."""

    confirm: str
    again: str
    spell: str
    by_words: str
    domain: str
    spell_local: str
    spell_domain: str
    more: str
    unclear: str
    invalid: str
    yes_or_no: str
    as_in: str


@dataclass(frozen=True, slots=True)
class CaptureLanguage:
    """Words of one language, lower case.

    signs: written form of a spoken sign. alphabet: words of the spelling alphabets. letters: names of
    letters as recognizers write them. Both count only among other letters. examples: words between a letter
    and its example ("as in"). repeats: "double". capitals: words about case, which are left out. openings:
    phrases before what was asked for. closings: phrases after it. yes, no, give_up, repeat: phrases that
    answer the agent. remarks: words of talk about a question, which are in no answer to it. instead_of:
    words between the right part and the wrong one. asides: phrases about how a value is written. repairs:
    phrases between what a caller said by mistake and what replaces it.
    """

    signs: Mapping[str, str]
    alphabet: Mapping[str, str]
    letters: Mapping[str, str]
    examples: frozenset[tuple[str, ...]]
    repeats: Mapping[str, int]
    capitals: frozenset[str]
    openings: frozenset[tuple[str, ...]]
    closings: frozenset[tuple[str, ...]]
    yes: frozenset[tuple[str, ...]]
    no: frozenset[tuple[str, ...]]
    give_up: frozenset[tuple[str, ...]]
    repeat: frozenset[tuple[str, ...]]
    remarks: frozenset[str]
    instead_of: frozenset[tuple[str, ...]]
    asides: frozenset[tuple[str, ...]]
    repairs: frozenset[tuple[str, ...]]
    prompts: Prompts


_NATO = _pairs(
    "alpha=a alfa=a bravo=b charlie=c delta=d echo=e foxtrot=f golf=g hotel=h india=i juliet=j juliett=j "
    "kilo=k lima=l mike=m november=n oscar=o papa=p quebec=q romeo=r sierra=s tango=t uniform=u victor=v "
    "whiskey=w whisky=w xray=x yankee=y zulu=z"
)
"""The spelling alphabet of the ICAO (Annex 10, volume II, 5.2.1.3), with common spellings."""

_ENGLISH = CaptureLanguage(
    signs=_pairs(
        "dot=. point=. period=. at=@ dash=- hyphen=- minus=- underscore=_ under_score=_ plus=+ slash=/ "
        "apostrophe=' at_sign=@"
    ),
    alphabet=_NATO,
    letters=_pairs(
        "ay=a be=b bee=b see=c sea=c dee=d ee=e ef=f eff=f gee=g aitch=h haitch=h eye=i jay=j kay=k el=l "
        "ell=l em=m en=n oh=o pee=p pea=p cue=q queue=q are=r ar=r ess=s es=s tea=t tee=t you=u vee=v we=v "
        "ex=x why=y wye=y zee=z zed=z double_you=w double_u=w peas=p beat=b"
    ),
    examples=_phrases("as in, is in, as an, as a, as and, is an, like in, like, for, from, as"),
    repeats={"double": 2, "triple": 3},
    capitals=frozenset(("capital", "uppercase", "lowercase", "upper", "lower", "case", "letter", "small")),
    openings=_phrases(
        "it's, it is, its, that's, that is, that would be, my email is, my e mail is, my email address is, "
        "my e mail address is, the email is, the address is, email is, my address is, my name is, my name's, "
        "my name as, my name a, my names, i name is, i name a, by name is, the name is, the name's, name is, "
        "i'm, i am, this is, my number is, the number is, number is, my phone number is, "
        "you can reach me at, you can use, please use, just use, use, "
        "you can send it to, send it to, you can email me at, email me at, reach me at, "
        "it should be, sure, yes, yeah, okay, ok, um, uh, well, so, of course, sure it's, spelled, "
        "spelt, that's spelled, it's spelled, my last name is, my first name is, my card number is, the "
        "card number is, no, oh no, actually, i said, i meant, sorry, let's see, i live at, i live in, "
        "i'd like, i would like, hi, hello, make it, make that, please, call me"
    ),
    closings=_phrases(
        "please, thanks, thank you, that's it, that's all, that is all, thank you very much, okay, speaking, "
        "here, got it, you got that, did you get that, that's right, that's correct"
    ),
    yes=_phrases(
        "yes, yeah, yep, yup, yes please, correct, that's correct, that is correct, right, that's right, "
        "that is right, exactly, sure, of course, okay, ok, perfect, that's it, it is, absolutely, "
        "definitely, sounds good, good, that's perfect, true, indeed, certainly, affirmative, yes it is, "
        "yes that's right, yes that is right, yes that's correct, you got it, i do, yes i do, please do, "
        "uh huh"
    ),
    no=_phrases(
        "no, nope, nah, no thanks, no thank you, wrong, that's wrong, that is wrong, incorrect, not right, "
        "that's not right, that is not right, that's not it, not quite, not really, that's incorrect, "
        "no it isn't, no it's not, no that's wrong, no that's not right, negative, i don't, no i don't, "
        "it isn't, it's not, not correct, that's not correct, no way, rather not, i'd rather not"
    ),
    give_up=_phrases(
        "never mind, nevermind, forget it, forget about it, skip it, skip that, skip this, let's skip it, "
        "i don't know, i do not know, i don't know it, i don't remember, i don't have one, "
        "i do not have one, i don't have an email, i don't have it, i give up, cancel, cancel that, "
        "stop it, i don't want to, i'd rather not, i would rather not, no thanks, leave it, not now, "
        "i won't give you that, i don't want to say, i'd rather not say, that's private, drop it"
    ),
    repeat=_phrases(
        "pardon, pardon me, sorry, come again, repeat that, say that again, could you repeat that, "
        "can you repeat that, what did you say, what, excuse me, say again, repeat please, once more please, "
        "i didn't hear you, i didn't catch that, can you say that again, could you say that again"
    ),
    remarks=_words(
        """
        i i'd i'll i'm i've me my you your we our they it that's this these those what what's why
        who how when which where do does did don't doesn't didn't can can't cannot could couldn't
        should would wouldn't won't yet need have haven't having had is isn't are aren't was wasn't
        be think know sure maybe perhaps forgot forget forgotten remember because if but about
        let wait hmm idea secret private business absolutely tell say give want none nothing pass later really
        """
    ),
    instead_of=_phrases("not, instead of, rather than, and not"),
    asides=_phrases(
        "all one word, one word, oneword, all in one word, all 1 word, 1 word, as one word, no spaces, "
        "no space, without spaces, all lower case, all lowercase, lower case, lowercase, all together, "
        "small letters, all small letters, lowercase letters, all lowercase letters, "
        "no apostrophe, without apostrophe, without the apostrophe, without an apostrophe, without a hyphen, "
        "without the hyphen, no dots, without dots, without a dot"
    ),
    repairs=_phrases(
        "no sorry, sorry, oh sorry, i mean, no i mean, sorry i mean, i meant, no wait, wait no, "
        "no wait sorry, scratch that, or rather, correction, no no, excuse me, my mistake"
    ),
    prompts=Prompts(
        "I have {}. Is that right?",
        "Sorry. Please say it once more.",
        "Sorry. Please spell it for me, letter by letter.",
        "Sorry. Please spell it with a word for each letter, like A as in Alpha.",
        "And what comes after the at sign?",
        "Sorry. Please spell the part before the at sign with a word for each letter, like A as in Alpha.",
        "Please spell what comes after the at sign, too, with a word for each letter.",
        "I have {} so far. Please go on.",
        "Sorry, I did not get that. {}",
        "{} does not seem to be valid. Please say it once more.",
        "Is that right? Please say yes or no.",
        "as in",
    ),
)  # fmt: skip

_GERMAN = CaptureLanguage(
    signs=_pairs(
        "punkt=. dot=. at=@ ät=@ et=@ klammeraffe=@ minus=- bindestrich=- strich=- unterstrich=_ plus=+ "
        "schrägstrich=/"
    ),
    alphabet=_NATO | _pairs(
        "anton=a berta=b cäsar=c dora=d emil=e friedrich=f gustav=g heinrich=h ida=i julius=j kaufmann=k "
        "ludwig=l martha=m nordpol=n otto=o paula=p quelle=q richard=r samuel=s siegfried=s theodor=t "
        "ulrich=u viktor=v wilhelm=w xanthippe=x ypsilon=y zacharias=z zeppelin=z ärger=ä ökonom=ö übermut=ü "
        "aachen=a berlin=b chemnitz=c düsseldorf=d essen=e frankfurt=f goslar=g hamburg=h ingelheim=i jena=j "
        "köln=k leipzig=l münchen=m nürnberg=n offenbach=o potsdam=p quickborn=q rostock=r salzwedel=s "
        "tübingen=t unna=u völklingen=v wuppertal=w xanten=x zwickau=z"
    ),
    letters=_pairs(
        "ah=a be=b bee=b ce=c zeh=c de=d eh=e ef=f ge=g geh=g ha=h jott=j jot=j ka=k el=l em=m en=n oh=o "
        "pe=p peh=p ku=q kuh=q er=r es=s te=t tee=t uh=u vau=v weh=w we=w ix=x ypsilon=y zett=z zet=z"
    ),
    examples=_phrases("wie, wie in, für"),
    repeats={"doppel": 2, "zweimal": 2, "doppeltes": 2, "dreimal": 3},
    capitals=frozenset(("groß", "großes", "klein", "kleines", "buchstabe")),
    openings=_phrases(
        "das ist, es ist, meine e mail ist, meine email ist, meine e mail adresse ist, meine adresse ist, "
        "mein name ist, ich heiße, ich bin, meine nummer ist, die nummer ist, ja, also, ähm, äh, gerne, "
        "nein, die lautet, sie lautet, er lautet, ich wohne in, ich meinte, ich möchte, am, um"
    ),
    closings=_phrases("bitte, danke, danke schön, das ist alles, das war's, vielen dank, am apparat, hier"),
    yes=_phrases(
        "ja, jawohl, ja bitte, genau, richtig, stimmt, das stimmt, das ist richtig, korrekt, ja genau, "
        "ja das stimmt, ja stimmt, okay, ok, gut, perfekt, passt, ja richtig, gerne, klar, natürlich"
    ),
    no=_phrases(
        "nein, nee, nö, falsch, das ist falsch, stimmt nicht, das stimmt nicht, nicht richtig, "
        "nein das stimmt nicht, nein das ist falsch, nein danke, lieber nicht, nicht ganz"
    ),
    give_up=_phrases(
        "vergiss es, vergessen sie es, egal, ist egal, weiß ich nicht, ich weiß es nicht, ich weiß nicht, "
        "habe ich nicht, ich habe keine, abbrechen, lassen wir das, möchte ich nicht, ich möchte nicht, "
        "überspringen, nein danke, lieber nicht"
    ),
    repeat=_phrases(
        "wie bitte, bitte, was, noch einmal, noch mal, nochmal, noch einmal bitte, "
        "können sie das wiederholen"
    ),
    remarks=_words(
        """
        ich mir mich mein sie ihnen wir es das warum wieso wozu was wer wie wann wo kann könnte soll
        will muss habe hatte ist sind war sein weiß sicher vielleicht vergessen denn weil wenn aber
        über keine keinen nichts moment geheim privat gerade
        """
    ),
    instead_of=_phrases("nicht, statt, anstatt, und nicht"),
    asides=_phrases(
        "zusammen, zusammengeschrieben, alles zusammen, zusammen geschrieben, alles klein, kleingeschrieben, "
        "alles kleingeschrieben, in einem wort, ein wort, ohne leerzeichen, ohne apostroph, ohne bindestrich"
    ),
    repairs=_phrases(
        "entschuldigung, nein entschuldigung, ich meine, ich meinte, quatsch, nein warte, pardon"
    ),
    prompts=Prompts(
        "Ich habe {}. Stimmt das?",
        "Entschuldigung. Bitte sagen Sie es noch einmal.",
        "Entschuldigung. Bitte buchstabieren Sie es.",
        "Entschuldigung. Bitte sagen Sie für jeden Buchstaben ein Wort, wie A wie Anton.",
        "Und was kommt nach dem At-Zeichen?",
        "Entschuldigung. Bitte buchstabieren Sie den Teil vor dem At-Zeichen, wie A wie Anton.",
        "Bitte buchstabieren Sie auch, was nach dem At-Zeichen kommt.",
        "Bis jetzt habe ich {}. Bitte weiter.",
        "Das habe ich leider nicht verstanden. {}",
        "{} scheint nicht zu stimmen. Bitte sagen Sie es noch einmal.",
        "Stimmt das? Bitte sagen Sie ja oder nein.",
        "wie",
    ),
)  # fmt: skip

_SPANISH = CaptureLanguage(
    signs=_pairs("punto=. arroba=@ guion=- guión=- guion_bajo=_ guión_bajo=_ más=+ barra=/ subrayado=_"),
    alphabet=_NATO,
    letters=_pairs(
        "be=b ce=c de=d efe=f ge=g hache=h jota=j ka=k ele=l eme=m ene=n eñe=ñ pe=p cu=q erre=r ere=r ese=s "
        "te=t uve=v ve=v doble_uve=w uve_doble=w doble_ve=w equis=x i_griega=y ye=y zeta=z"
    ),
    examples=_phrases("de, como, como en"),
    repeats={"doble": 2, "triple": 3},
    capitals=frozenset(("mayúscula", "minúscula", "letra")),
    openings=_phrases(
        "es, mi correo es, mi correo electrónico es, mi email es, mi nombre es, me llamo, soy, mi número es, "
        "el número es, sí, pues, eh, claro, no, vivo en, la dirección es, mi dirección es, quería, a, el"
    ),
    closings=_phrases("por favor, gracias, muchas gracias, eso es todo"),
    yes=_phrases(
        "sí, si, correcto, es correcto, exacto, eso es, así es, sí por favor, claro, vale, de acuerdo, bien, "
        "perfecto, sí es correcto, sí correcto, claro que sí"
    ),
    no=_phrases("no, incorrecto, no es correcto, está mal, no es así, no gracias, eso no, no no, mejor no"),
    give_up=_phrases(
        "déjalo, déjelo, olvídalo, olvídelo, no lo sé, no sé, no tengo, no me acuerdo, cancelar, cancela, "
        "da igual, no importa, no quiero, prefiero no, mejor no, no gracias"
    ),
    repeat=_phrases("cómo, qué, perdón, perdone, otra vez, repita por favor, puede repetir, cómo dice"),
    remarks=_words(
        """
        yo me mi usted ustedes qué quién cómo cuándo dónde cuál puedo puede podría debo quiero tengo
        tiene es está estoy era sé seguro segura quizás tal olvidé olvidado porque si pero nada
        ninguno ninguna momento secreto privado
        """
    ),
    instead_of=_phrases("no, en vez de, en lugar de, y no"),
    asides=_phrases(
        "todo junto, junto, todo en minúsculas, en minúsculas, sin espacios, sin guion, sin guión"
    ),
    repairs=_phrases("perdón, no perdón, perdone, quiero decir, digo, no espera, mejor dicho"),
    prompts=Prompts(
        "Tengo {}. ¿Es correcto?",
        "Perdone. Dígalo otra vez, por favor.",
        "Perdone. Deletréelo, por favor.",
        "Perdone. Diga una palabra por cada letra, como A de Alfa.",
        "¿Y qué va después de la arroba?",
        "Perdone. Deletree la parte antes de la arroba con una palabra por cada letra, como A de Alfa.",
        "Deletree también lo que va después de la arroba, por favor.",
        "Hasta ahora tengo {}. Siga, por favor.",
        "Perdone, no lo he entendido. {}",
        "{} no parece válido. Dígalo otra vez, por favor.",
        "¿Es correcto? Diga sí o no, por favor.",
        "de",
    ),
)  # fmt: skip

_LANGUAGES = {"en": _ENGLISH, "de": _GERMAN, "es": _SPANISH}


def capture_language(code: str) -> CaptureLanguage:
    """Return the words of a language, by its ISO 639 code; English if it is unknown."""
    return _LANGUAGES.get(code, _ENGLISH)
