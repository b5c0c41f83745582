"""The grammar of our sentences, read back by somebody who has nothing but the text.

Every sentence that is told of one decision is here. A reader is strict: what it does not know in
full is an error, so that a new sentence must be added, and with it what it claims.

    told   = "Class L is kept with probability at least P over D[, with confidence C], G
             (SIZE; CLAIM)."
           | "Of {the rows that share FACTS | all rows}, class L is kept in at least P with
             confidence C: in K of M such rows among N held out; DELTA is {confirmed | refuted
             | not confirmed} (descriptive, over all N rows: K of M; SIZE; CLAIM {in | by Wilson's
             lower bound in} the N rows searched)."
    G      = "given FACTS" | "whatever the features are"
    SIZE   = "k of n features[ at a cost of X]"
    CLAIM  = "no {smaller | cheaper} set SETS reaches DELTA[ + E]"
           | "[beside NAMES ]{none can be left out | no single one of them can be left out
             | none is known to be superfluous | no single one is known to be superfluous}[; LEAST]"
           | "[beside NAMES ]no fewer[ of KIND] by mean cost reach DELTA + E"
           | "the best set found SETS; {DELTA is not reached | DELTA is not proved
             | none found reaches DELTA}"
           | "fewer than M share them"
    LEAST  = "no set SETS {of fewer than k KIND | that has fewer than k features
             | that costs less than X} reaches DELTA"
    SETS   = [of at most k features | of at most k [of] KIND | of KIND]
             [with NAMES [and otherwise of KIND]] [that at least M rows share]
    KIND   = "[the ]{present | supporting | present and supporting} features[ allowed]"
           | "the features allowed"
    FACTS  = "A, B and C[, although D and E]" | "A; B; C[; although D; E]"
             (one that holds a semicolon, or alone an "and", is “quoted”)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

NUMBER = r"(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
WHOLE = r"\d{1,3}(?:,\d{3})*"
OVER = (
    rf"uniform completions|replacement by {WHOLE} background rows?"
    rf"|independent completions with (?:the marginals of {WHOLE} background rows?|{WHOLE} given "
    rf"marginals?)"
)
ENCLOSURE = rf"{NUMBER}|\[{NUMBER}, {NUMBER}\]"
KIND = r"(?:the )?(?:present and supporting |present |supporting )?features(?: allowed)?"


class UnknownSentenceError(AssertionError):
    """A sentence that is not in the grammar."""


@dataclass(frozen=True)
class Sets:
    """Which sets a claim ranges over, as far as the words say."""

    include: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    allowed: bool = False  # not all features were
    most: int | None = None
    min_rows: int | None = None
    none: bool = False  # no feature was


@dataclass(frozen=True)
class Claim:
    """What is claimed of a set beside its guarantee; ``words`` is the sentence without numbers."""

    words: str
    sets: Sets = field(default=Sets())
    level: Fraction | None = None
    slack: Fraction = Fraction(0)
    beside: tuple[str, ...] = ()
    fewer: int | None = None  # no set of fewer reaches the level
    cheaper: Fraction | None = None  # no set that costs less does
    bounded: Sets | None = None  # of these


@dataclass(frozen=True)
class Told:
    """What a sentence says of one decision."""

    label: str
    lower: Fraction
    confidence: Fraction
    over: str
    facts: tuple[str, ...]
    although: tuple[str, ...]
    size: int
    n_units: int
    cost: Fraction | None
    claim: Claim
    counts: tuple[int, ...] = ()  # of rows that are matched, in the order in which they are told
    verdict: str = ""


@dataclass(frozen=True)
class Short:
    """Why delta is not reached, as a message says it."""

    delta: Fraction
    what: str
    barred: tuple[str, ...]
    which: str
    known: tuple[Fraction, Fraction]
    over: str


# --- parts -----------------------------------------------------------------------------------


def matched(pattern: str, text: str) -> re.Match[str]:
    """Return how a whole text matches, or say that no sentence reads so."""
    found = re.fullmatch(pattern, text, re.DOTALL)
    if found is None:
        raise UnknownSentenceError(f"not in the grammar: {text!r}")
    return found


def whole(text: str) -> int:
    """Return a whole number with commas."""
    return int(text.replace(",", ""))


def ends(text: str) -> tuple[Fraction, Fraction]:
    """Return both ends of an enclosure."""
    low, _, high = matched(ENCLOSURE, text)[0].strip("[]").partition(", ")
    return Fraction(low), Fraction(high or low)


def cell(text: str) -> tuple[str, ...]:
    """Return the parts of a list in a cell: by semicolons, outside of quotation marks."""
    if not text:
        return ()
    parts = re.findall(r"(“[^”]*”|[^;“”]+)(?:; |$)", text)
    assert "; ".join(parts) == text, text
    return tuple(part.strip("“”") for part in parts)


def listed(text: str) -> tuple[str, ...]:
    """Return the parts of a list in a sentence."""
    if "; " in text or text.startswith("“"):
        return cell(text)
    head, _, last = text.rpartition(" and ")
    return (*head.split(", "), last) if head else (text,)


def facts(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the facts that a sentence names, and those of them behind "although"."""
    if text.startswith("although "):
        return (), listed(text.removeprefix("although "))
    for between in ("; although ", ", although "):
        before, found, behind = text.partition(between)
        if found and between == "; although ":
            return cell(before), cell(behind)
        if found and "; " not in text and "“" not in text:
            return listed(before), listed(behind)
    return listed(text), ()


def kinds(text: str | None) -> tuple[tuple[str, ...], bool]:
    """Return of which kinds features are, and whether others than these were barred."""
    if not text:
        return (), False
    matched(KIND, text)
    words = text.removeprefix("the ").removesuffix(" allowed").removesuffix("features").split()
    assert text.startswith("the ") == text.endswith(" allowed"), text
    return tuple(word for word in words if word != "and"), text.endswith(" allowed")


def sets(text: str) -> Sets:
    """Return which sets are meant by what stands behind the noun."""
    found = matched(
        rf"(?: of at most (?P<most>{WHOLE}) (?:(?:of )?(?P<some>{KIND})|feature))?"
        rf"(?: of (?P<kind>{KIND}))?"
        rf"(?: with (?P<include>.+?)(?: and otherwise of (?P<other>{KIND}))?)?"
        rf"(?: that at least (?P<rows>{WHOLE}) rows? shares?)?",
        text,
    )
    some = found["some"] if found["some"] != "features" else None
    only, allowed = kinds(found["kind"] or found["other"] or some)
    return Sets(
        listed(found["include"]) if found["include"] else (),
        only,
        allowed,
        whole(found["most"]) if found["most"] else None,
        whole(found["rows"]) if found["rows"] else None,
    )


# --- claims ----------------------------------------------------------------------------------


def claim(text: str) -> Claim:
    """Return what is claimed of the size of a set."""
    found = re.fullmatch(
        rf"no (smaller|cheaper) set(.*?) reaches ({NUMBER})(?: \+ ({NUMBER}))?", text
    )
    if found:
        slack = Fraction(found[4] or 0)
        return Claim(f"no {found[1]} set", sets(found[2]), Fraction(found[3]), slack)
    found = re.fullmatch(
        rf"the best set found(.*?); (?:({NUMBER}) is not (reached|proved)|none found reaches "
        rf"({NUMBER}))",
        text,
    )
    if found:
        words = f"the best found, not {found[3]}" if found[3] else "the best found, none reaches"
        return Claim(words, sets(found[1]), Fraction(found[2] or found[4]))
    found = re.fullmatch(rf"fewer than ({WHOLE}) share them", text)
    if found:
        return Claim("too few rows", Sets(min_rows=whole(found[1])))
    found = matched(
        r"(?:beside (?P<beside>.+?) )?(?P<words>none can be left out|none is known to be "
        r"superfluous"
        r"|no single one of them can be left out|no single one is known to be superfluous"
        rf"|no fewer(?: of (?P<kind>{KIND}))? by mean cost reach (?P<level>{NUMBER}) \+ "
        rf"(?P<slack>{NUMBER}))"
        r"(?:; (?P<least>.+))?",
        text,
    )
    beside = listed(found["beside"]) if found["beside"] else ()
    if found["level"]:
        only, allowed = kinds(found["kind"])
        those, level = Sets(beside, only, allowed), Fraction(found["level"])
        return Claim("no fewer by mean cost", those, level, Fraction(found["slack"]), beside)
    plain = Claim(found["words"], beside=beside)
    return _bounded(plain, found["least"]) if found["least"] else plain


def _bounded(known: Claim, text: str) -> Claim:
    found = re.fullmatch(rf"no set(.*?) that costs less than ({NUMBER}) reaches ({NUMBER})", text)
    if found:
        those = Sets() if found[1] == " of features" else sets(found[1])
        return Claim(
            known.words, level=Fraction(found[3]), beside=known.beside,
            cheaper=Fraction(found[2]), bounded=those,
        )  # fmt: skip
    found = re.fullmatch(
        rf"no set(.*?) that has fewer than ({WHOLE}) features reaches ({NUMBER})", text
    )
    if found:
        those = sets(found[1])
    else:
        found = matched(rf"no set( of) fewer than ({WHOLE}) (.+?) reaches ({NUMBER})", text)
        those = Sets() if found[3] == "features" else sets(f" of {found[3]}")
    return Claim(
        known.words, level=Fraction(found[found.re.groups]), beside=known.beside,
        fewer=whole(found[2]), bounded=those,
    )  # fmt: skip


# --- sentences -------------------------------------------------------------------------------

SIZE = rf"(?P<size>{WHOLE}) of (?P<n>{WHOLE}) features?(?: at a cost of (?P<cost>{NUMBER}))?"


def sentence(text: str) -> Told:
    """Return what a sentence says of a decision."""
    if text.startswith("Of "):
        return _of_rows(text)
    found = matched(
        rf"Class (?P<label>.+?) is kept with probability at least (?P<lower>{NUMBER}) over "
        rf"(?P<over>{OVER})(?:, with confidence (?P<trust>{NUMBER}))?, "
        rf"(?:given (?P<facts>.+)|whatever the features are) \({SIZE}; (?P<claim>.+)\)\.",
        text,
    )
    told = facts(found["facts"]) if found["facts"] else ((), ())
    return Told(
        found["label"], Fraction(found["lower"]), Fraction(found["trust"] or 1), found["over"],
        *told, *_size(found), claim(found["claim"]),
    )  # fmt: skip


def _size(found: re.Match[str]) -> tuple[int, int, Fraction | None]:
    matched("features?", "feature" if found["n"] == "1" else "features")
    cost = Fraction(found["cost"]) if found["cost"] else None
    return whole(found["size"]), whole(found["n"]), cost


def _of_rows(text: str) -> Told:
    found = matched(
        rf"Of (?:the rows that share (?P<facts>.+)|all rows), class (?P<label>.+?) is kept in at "
        rf"least "
        rf"(?P<lower>{NUMBER}) with confidence (?P<trust>{NUMBER}): in (?P<a>{WHOLE}) of "
        rf"(?P<b>{WHOLE}) such rows among (?P<c>{WHOLE}) held out; (?P<delta>{NUMBER}) is "
        rf"(?P<verdict>confirmed|refuted|not confirmed) \(descriptive, over all (?P<d>{WHOLE}) "
        rf"rows?: "
        rf"(?P<e>{WHOLE}) of (?P<f>{WHOLE}); {SIZE}; (?P<claim>.+) "
        rf"(?P<how>by Wilson's lower bound in|in) the (?P<g>{WHOLE}) rows? searched\)\.",
        text,
    )
    told = facts(found["facts"]) if found["facts"] else ((), ())
    return Told(
        found["label"], Fraction(found["lower"]), Fraction(found["trust"]), found["how"], *told,
        *_size(found), claim(found["claim"]), tuple(whole(found[k]) for k in "abcdefg"),
        found["verdict"],
    )  # fmt: skip


def short(text: str) -> Short:
    """Return what a message says of a delta that is not reached."""
    found = matched(
        rf"delta = (?P<delta>{NUMBER}) (?P<what>cannot be reached|is not reached|is not proved"
        r"|is not reached by the estimate) for (?:row 0|this row) "
        r"(?P<barred>without the features in exclude)?(?: and )?(?:with (?P<only>present_only=True"
        r"|supporting_only=True|present_only=True and supporting_only=True))?: "
        r"(?P<which>the best guarantee that the others give is|the best guarantee found is"
        r"|there are no others, and with nothing known the guarantee is) "
        rf"(?:(?P<known>{ENCLOSURE})|about {NUMBER} in {WHOLE} samples) \((?P<over>{OVER})\)\. "
        r"(?:Exclude fewer|Allow more) features, (?:or lower delta|lower delta, or set max_size "
        r"to get the "
        r"best set all the same)\.",
        text,
    )
    only = tuple(found["only"].replace("_only=True", "").split(" and ")) if found["only"] else ()
    barred = (*(("exclude",) if found["barred"] else ()), *only)
    known = ends(found["known"]) if found["known"] else (Fraction(0), Fraction(1))
    return Short(
        Fraction(found["delta"]), found["what"], barred, found["which"], known, found["over"]
    )


@dataclass(frozen=True)
class Shared:
    """What is said of all reasons of a size; None of what is not said."""

    size: int | None
    sets: Sets
    needs: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    others: int = 0
    maybe: int | tuple[str, ...] = ()
    proved: bool = True


def shared(text: str) -> Shared:
    """Return what is said of the other reasons of a decision."""
    if text == "No other reason has as few features.":
        return Shared(0, Sets())
    found = re.fullmatch(
        rf"It is not proved that a reason of ({WHOLE}) features?(.*?) is the smallest, so nothing "
        rf"is said "
        r"of the others\.",
        text,
    )
    if found:
        return Shared(whole(found[1]), sets(found[2]), proved=False)
    found = matched(
        rf"Every reason of this size(?: \((?P<size>{WHOLE}) features?\))?(?P<sets>.*?) needs "
        r"(?P<needs>.+); (?:(?P<some>\d+|no)(?: more)? features? occurs? in some"
        r"|in some there is(?= perhaps)|(?P<more>\d+|no)(?: more)? features? occurs? in some, "
        r"and(?= perhaps))"
        r"(?: perhaps (?P<maybe>.+?)(?: and (?P<left>\d+) more)?)?\.",
        text,
    )
    some = (found["some"] or found["more"] or "no").replace("no", "0")
    needs = listed(found["needs"]) if found["needs"] != "no feature in particular" else ()
    maybe = listed(found["maybe"]) if found["maybe"] else ()
    return Shared(
        whole(found["size"]) if found["size"] else None,
        sets(found["sets"]),
        tuple(name for name in needs if not name.startswith("perhaps ")),
        tuple(name.removeprefix("perhaps ") for name in needs if name.startswith("perhaps ")),
        int(some),
        maybe,
    )


@dataclass(frozen=True)
class Broken:
    """What a sentence says of the features without which a decision does not stand."""

    names: tuple[str, ...]
    sets: Sets
    label: str
    delta: Fraction
    over: str
    best: tuple[Fraction, Fraction]
    claim: str
    others: bool = True


def broken(text: str) -> Broken:
    """Return what a sentence says of a breaking set."""
    tail = rf"over (?P<over>{OVER})"
    found = re.fullmatch(
        rf"(?:Without (?P<names>.+) no set|No set) of (?:the )?(?:other )?(?P<kind>{KIND})(?: with "
        rf"(?P<include>.+?))? keeps class (?P<label>.+?) with probability (?P<delta>{NUMBER}) "
        rf"{tail}: the "
        rf"best found keeps it with (?P<best>{ENCLOSURE}) \((?P<claim>no fewer features break it"
        r"|none of them can be spared|fewer may do|nothing need be left out to break it)\)\.",
        text,
    )
    left = found is not None
    if found is None:
        found = matched(
            rf"(?:Without (?P<names>.+) no others(?: of (?P<kind>{KIND}))? are left|No features "
            rf"are allowed), and with (?:nothing known|(?P<include>.+?) alone "
            rf"known), class (?P<label>.+?) is kept with probability (?P<best>{ENCLOSURE}) "
            rf"{tail}, less than "
            rf"(?P<delta>{NUMBER}) \((?P<claim>no fewer features break it|none of them can be "
            rf"spared"
            r"|fewer may do|nothing need be left out to break it)\)\.",
            text,
        )
    kind = found["kind"]
    known = {} if kind is None else dict(zip(("only", "allowed"), _others(kind), strict=True))
    if text.startswith("No features are allowed"):
        known = {"none": True}
    return Broken(
        listed(found["names"]) if found["names"] else (),
        Sets(listed(found["include"]) if found["include"] else (), **known),
        found["label"], Fraction(found["delta"]), found["over"], ends(found["best"]),
        found["claim"], left,
    )  # fmt: skip


def _others(kind: str) -> tuple[tuple[str, ...], bool]:
    bare = kind.removeprefix("the ").removesuffix(" allowed")
    only, _ = kinds(bare)
    return only, kind.endswith(" allowed")


@dataclass(frozen=True)
class Unbroken:
    """What is said where nothing breaks a decision, or where that stays open."""

    label: str
    known: tuple[Fraction, Fraction]
    over: str
    delta: Fraction
    include: tuple[str, ...]
    proved: bool


def unbroken(text: str) -> Unbroken:
    """Return what is said of a decision that nothing is proved to break."""
    found = re.fullmatch(
        rf"nothing breaks this decision: class (?P<label>.+?) is kept with probability "
        rf"(?P<known>{ENCLOSURE}) "
        rf"over (?P<over>{OVER}) with (?:nothing known|(?P<include>.+) alone known), which "
        rf"reaches delta = "
        rf"(?P<delta>{NUMBER})\. Raise delta to ask for more\.",
        text,
    )
    proved = found is not None
    if found is None:
        found = matched(
            r"It stays undecided whether anything breaks this decision: with (?:nothing known"
            r"|(?P<include>.+) "
            rf"alone known), class (?P<label>.+?) is kept with probability (?P<known>{ENCLOSURE}) "
            rf"over "
            rf"(?P<over>{OVER}), which may or may not reach (?P<delta>{NUMBER})\.",
            text,
        )
    include = listed(found["include"]) if found["include"] else ()
    return Unbroken(
        found["label"],
        ends(found["known"]),
        found["over"],
        Fraction(found["delta"]),
        include,
        proved,
    )


@dataclass(frozen=True)
class Open:
    """What is said of a decision of which some features are not known."""

    label: str
    known: tuple[Fraction, Fraction]
    over: str
    unknown: int
    n_units: int
    word: str
    delta: Fraction


def outlook(text: str) -> Open:
    """Return what a sentence says of a decision that is not made yet."""
    found = matched(
        rf"Class (.+) with probability ({ENCLOSURE}) over ({OVER}), ({WHOLE}) of ({WHOLE}) "
        rf"features? unknown: "
        rf"(settled|not settled|undecided) at ({NUMBER})\.",
        text,
    )
    counts = whole(found[4]), whole(found[5])
    return Open(found[1], ends(found[2]), found[3], *counts, found[6], Fraction(found[7]))


@dataclass(frozen=True)
class Coded:
    """What a statement says of reason codes."""

    codes: int
    label: str
    lower: Fraction
    delta: Fraction | None
    more: int
    omitted: str | None
    used: tuple[str, ...]
    lost: Fraction


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def statement(text: str) -> Coded:
    """Return what a statement says of the codes of a row."""
    found = matched(
        rf"(?P<n>{'|'.join(NUMBERS)}) (?P<codes>codes?) (?P<keep>keeps?) (?P<label>.+?) in at "
        rf"least "
        rf"(?P<lower>{NUMBER})(?:; (?P<delta>{NUMBER}) needs at least (?P<more>{WHOLE}) more "
        r"(?:feature with a code|features with codes))?(?:; (?P<omitted>.+?), which falls short "
        r"the most, "
        r"is not among them)?(?:; the model also uses (?P<used>.+?), which (?P<was>was|were) kept "
        r"out"
        rf"(?: \(a loss of (?P<lost>{NUMBER}) or more\))?)?",
        text,
    )
    codes, used = NUMBERS.index(found["n"]), listed(found["used"]) if found["used"] else ()
    assert (found["codes"], found["keep"]) == (
        ("code", "keeps") if codes == 1 else ("codes", "keep")
    )
    assert found["was"] in (None, "was" if len(used) == 1 else "were")
    return Coded(
        codes, found["label"], Fraction(found["lower"]),
        Fraction(found["delta"]) if found["delta"] else None, whole(found["more"] or "0"),
        found["omitted"], used, Fraction(found["lost"] or 0),
    )  # fmt: skip
