"""Abbreviations and what they stand for, by language."""

from __future__ import annotations

from functools import cache

BEFORE_MORE = {
    "en": {
        "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Prof.": "Professor", "Gen.": "General",
        "Sen.": "Senator", "Rep.": "Representative", "Gov.": "Governor", "Capt.": "Captain",
        "Sgt.": "Sergeant", "Lt.": "Lieutenant", "Col.": "Colonel", "Rev.": "Reverend",
        "Hon.": "Honorable", "Mt.": "Mount", "Ft.": "Fort", "vs.": "versus", "approx.": "approximately",
        "ca.": "about", "cf.": "compare", "e.g.": "for example", "i.e.": "that is", "incl.": "including",
        "excl.": "excluding", "tel.": "telephone", "avg.": "average", "w/": "with", "c/o": "care of",
        "P.O.": "P O",
    },
    "de": {
        "z. B.": "zum Beispiel", "z.B.": "zum Beispiel", "d. h.": "das heißt", "d.h.": "das heißt",
        "u. a.": "unter anderem", "u.a.": "unter anderem", "bzw.": "beziehungsweise", "ca.": "circa",
        "Nr.": "Nummer", "Dr.": "Doktor", "Prof.": "Professor", "Hr.": "Herr", "Fr.": "Frau",
        "inkl.": "inklusive", "exkl.": "exklusive", "zzgl.": "zuzüglich", "evtl.": "eventuell",
        "ggf.": "gegebenenfalls", "max.": "maximal", "min.": "mindestens", "mind.": "mindestens",
        "St.": "Sankt", "Tel.": "Telefon", "vgl.": "vergleiche", "gem.": "gemäß", "i. d. R.": "in der Regel",
        "i.d.R.": "in der Regel", "bspw.": "beispielsweise", "tägl.": "täglich", "einschl.": "einschließlich",
        "Mio.": "Millionen", "Mrd.": "Milliarden", "Tsd.": "Tausend",
    },
    "fr": {"M.": "Monsieur", "Mme": "Madame", "Mlle": "Mademoiselle", "Dr": "Docteur", "env.": "environ",
           "p. ex.": "par exemple", "tél.": "téléphone", "av.": "avenue", "bd.": "boulevard", "max.": "maximum",
           "min.": "minimum"},
    "es": {"Sr.": "Señor", "Sra.": "Señora", "Srta.": "Señorita", "Dr.": "Doctor", "Dra.": "Doctora",
           "p. ej.": "por ejemplo", "p.ej.": "por ejemplo", "aprox.": "aproximadamente", "Ud.": "usted",
           "Uds.": "ustedes", "Vd.": "usted", "D.": "don", "Dña.": "doña", "Avda.": "avenida", "Av.": "avenida",
           "C/": "calle", "c/": "calle", "Pza.": "plaza", "Pl.": "plaza", "Pº": "paseo", "n.º": "número",
           "nº": "número", "núm.": "número", "tel.": "teléfono", "tlf.": "teléfono", "pág.": "página",
           "págs.": "páginas", "máx.": "máximo", "mín.": "mínimo", "incl.": "incluido", "dcha.": "derecha",
           "izq.": "izquierda", "dpto.": "departamento", "s/n": "sin número", "Sto.": "Santo", "Sta.": "Santa"},
    "it": {"Sig.": "Signor", "Sig.ra": "Signora", "Dott.": "Dottor", "Dott.ssa": "Dottoressa",
           "ecc.": "eccetera", "tel.": "telefono", "max.": "massimo", "min.": "minimo", "ca.": "circa"},
    "nl": {"bijv.": "bijvoorbeeld", "bv.": "bijvoorbeeld", "ca.": "circa", "dhr.": "de heer", "mevr.": "mevrouw",
           "max.": "maximaal", "min.": "minimaal", "tel.": "telefoon", "nr.": "nummer", "incl.": "inclusief"},
}  # fmt: skip
"""Abbreviations after which the sentence goes on."""
ANYWHERE = {
    "en": {
        "etc.": "et cetera", "Inc.": "Incorporated", "Ltd.": "Limited", "Corp.": "Corporation",
        "Co.": "Company", "Jr.": "Junior", "Sr.": "Senior", "Ave.": "Avenue", "Blvd.": "Boulevard",
        "Rd.": "Road", "Ln.": "Lane", "Hwy.": "Highway", "Pkwy.": "Parkway", "Apt.": "Apartment",
        "Ste.": "Suite", "Bldg.": "Building", "Dept.": "Department", "appt.": "appointment",
        "ext.": "extension", "Ph.D.": "PhD", "a.m.": "AM", "p.m.": "PM", "w/o": "without",
        "Jan.": "January", "Feb.": "February", "Apr.": "April", "Aug.": "August", "Sept.": "September",
        "Oct.": "October", "Nov.": "November", "Dec.": "December", "and/or": "and or",
    },
    "de": {
        "usw.": "und so weiter", "etc.": "et cetera", "Str.": "Straße", "OG": "Obergeschoss", "EG": "Erdgeschoss",
        "UG": "Untergeschoss", "p.P.": "pro Person", "p. P.": "pro Person", "MwSt.": "Mehrwertsteuer",
        "Hbf": "Hauptbahnhof", "Hbf.": "Hauptbahnhof", "Pl.": "Platz", "Jan.": "Januar", "Feb.": "Februar",
        "Aug.": "August", "Sept.": "September", "Okt.": "Oktober", "Nov.": "November", "Dez.": "Dezember",
        "u.Ä.": "und Ähnliches", "s.o.": "siehe oben",
    },
    "fr": {"etc.": "et cetera"},
    "es": {"etc.": "etcétera", "EE. UU.": "Estados Unidos", "EE.UU.": "Estados Unidos"},
}  # fmt: skip
"""Abbreviations whose full stop may also end the sentence."""
NUMBERED = {
    "en": {
        "no.": "number", "nos.": "numbers", "p.": "page", "pp.": "pages", "fig.": "figure", "vol.": "volume",
        "ch.": "chapter", "art.": "article", "max.": "maximum", "min.": "minimum", "apt.": "apartment",
        "ext.": "extension", "tel.": "telephone", "rm.": "room", "ste.": "suite", "fl.": "floor", "est.": "established",
        "qty.": "quantity", "bldg.": "building", "ref.": "reference", "acct.": "account", "ph.": "phone",
        "temp.": "temperature", "wt.": "weight",
    },
    "de": {"s.": "Seite", "abs.": "Absatz", "art.": "Artikel", "kap.": "Kapitel", "nr.": "Nummer", "tel.": "Telefon",
           "whg.": "Wohnung", "bd.": "Band"},
    "es": {"art.": "artículo", "cap.": "capítulo", "ref.": "referencia", "ext.": "extensión", "hab.": "habitación",
           "vol.": "volumen"},
    "fr": {"no.": "numéro", "n°": "numéro", "p.": "page"},
    "it": {"n.": "numero", "pag.": "pagina"},
}  # fmt: skip
"""Abbreviations that stand before a number, in lower case."""
LIMITS = {"en": {"max.": "maximum", "min.": "minimum"}}
"""Abbreviations of limits, also before a number in words."""


@cache
def known(language: str) -> dict[str, str]:
    """Return all abbreviations of a language, also as they stand at the beginning of a sentence."""
    return both_cases(BEFORE_MORE.get(language, {}) | ANYWHERE.get(language, {}))


def needs_follower(word: str, language: str) -> bool:
    """Whether `word`, full stop included, is an abbreviation after which the sentence goes on."""
    return word in _followed(language)


@cache
def _followed(language: str) -> dict[str, str]:
    return both_cases(BEFORE_MORE.get(language, {}) | LIMITS.get(language, {}))


def both_cases(table: dict[str, str]) -> dict[str, str]:
    """Return a table with its abbreviations as they stand at the beginning of a sentence, too."""
    return {short[0].upper() + short[1:]: long for short, long in table.items()} | table
