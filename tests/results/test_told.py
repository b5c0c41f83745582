"""Every sentence is read back, and what it claims is held against all sets in exact fractions."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from itertools import combinations, product
from typing import Any

import pytest

from sklearn_probsr import (
    SufficientReasonExplainer,
    breaking_set,
    outlook,
    reason_codes,
    sufficient_reason,
)
from sklearn_probsr.exceptions import UnreachableError
from tests.oracle import Listed
from tests.results import told
from tests.results.decided import Decided, decided

WHOLE = os.environ.get("SKLEARN_PROBSR_CASES") == "whole"
# Decisions, each of which is told in about ten sentences, and in how many parts they are asked.
CASES, PARTS = (9000, 36) if WHOLE else (240, 2)


# --- one claim against all sets --------------------------------------------------------------


def chosen(case: Decided, facts: tuple[str, ...]) -> frozenset[int]:
    """Return the features whose facts are told: each once, and as it is in the row."""
    assert len(set(facts)) == len(facts)
    return frozenset(case.facts.index(fact) for fact in facts)


def check(case: Decided, said: told.Told) -> None:
    """Hold a sentence against the truth."""
    some = chosen(case, said.facts + said.although)
    assert said.label == case.label
    assert (said.size, said.n_units) == (len(some), len(case.x))
    if not isinstance(case, AnyLeaning):
        assert {u for u in some if case.leanings[u] < 0} == chosen(case, said.although)
    if "cost" in case.options:
        assert said.cost == case.price(some)
    else:
        assert said.cost is None
    if case.matched is not None:
        check_rows(case, said, some)
    else:
        assert said.over == case.over
        assert said.lower <= case.shares[some]
    check_claim(case, said.claim, some, said.confidence)


def check_rows(case: Decided, said: told.Told, some: frozenset[int]) -> None:
    """Hold counts against rows that are counted."""
    kept, n = case.counted(some, 1)
    (a, b), (c, d) = case.counted(some, 0), (case.n_rows(0), case.n_rows(1))
    assert said.counts == (kept, n, d, c + d, a + kept, b + n, c)
    assert said.over == "in"
    share = Fraction(kept, max(n, 1))
    assert said.lower <= share or not n
    assert said.confidence == Fraction("0.95")
    assert said.verdict != "confirmed" or said.lower >= case.delta - Fraction(1, 10**6)


def level_of(case: Decided) -> Fraction:
    """Return the level that was asked for, which means the decimal that it prints as."""
    return Fraction(str(case.delta))


def check_claim(
    case: Decided, claim: told.Claim, some: frozenset[int], confidence: Fraction = Fraction(1)
) -> None:
    """Hold what is claimed of the size of a set against all the sets that it speaks of."""
    words, share, level = claim.words, case.shares[some], level_of(case)
    assert claim.level in (None, level)
    least = getattr(case.distribution, "min_rows", None)
    if words == "too few rows":
        assert claim.sets.min_rows == least
        assert share < 0
        return
    # A set is among those that the claim speaks of, and keeps to what was asked for.
    named = claim.sets if claim.bounded is None else claim.bounded
    if words not in told_of_parts:
        assert some in set(case.inside(claim.sets))
        assert claim.sets.min_rows == least
    if words in ("no smaller set", "no cheaper set"):
        check_smallest(case, claim, some)
    elif words.startswith("the best found"):
        assert claim.sets.most == case.options.get("max_size")
        # Nothing is left open where a bound is not near the level.
        open_one = confidence < 1 or abs(share - level) < Fraction(1, 1000)
        assert open_one if words.endswith("not proved") else share < level
    elif words.startswith(("none can be", "no single one of them")):
        check_parts(case, claim, some)
    assert case.named(claim.beside) in (set(), set(case.options.get("include", ())))
    for other in case.inside(named):
        fewer = claim.fewer is not None and len(other) < claim.fewer
        cheaper = claim.cheaper is not None and case.price(other) < claim.cheaper
        assert not (fewer or cheaper) or case.shares[other] < level


def check_smallest(case: Decided, claim: told.Claim, some: frozenset[int]) -> None:
    """Hold that nothing smaller, or cheaper, reaches a level against all sets that are meant."""
    measure = len if claim.words == "no smaller set" else case.price
    assert (claim.words == "no cheaper set") == ("cost" in case.options)
    asked = level_of(case) + claim.slack
    for other in case.inside(claim.sets):
        assert measure(other) >= measure(some) or case.shares[other] < asked, other


def check_word(case: Decided, word: str, scope: str, some: frozenset[int]) -> None:
    """Hold a word in a table against the sets of its scope; where none is named, against all."""
    sets = told.sets(f" {scope}" if scope else "")
    inside = set(case.inside(sets))
    assert some in inside or case.shares[some] < 0  # of too few rows to be compared
    if word == "minimum":
        measure = case.price if "cost" in case.options else len
        for other in inside:
            assert measure(other) >= measure(some) or case.shares[other] < level_of(case), other


def check_parts(case: Decided, claim: told.Claim, some: frozenset[int]) -> None:
    """Hold that nothing can be left out against all parts of a set, or those one smaller."""
    single = claim.words.startswith("no single")
    for size in range(len(some) - 1 if single else 0, len(some)):
        for part in map(frozenset, combinations(some, max(size, 0))):
            kept = case.named(claim.beside) <= part
            assert not kept or case.shares[part] < level_of(case), part


told_of_parts = {
    "none can be left out",
    "none is known to be superfluous",
    "no single one of them can be left out",
    "no single one is known to be superfluous",
}


def check_short(case: Decided, text: str) -> None:
    """Hold the message of a level that is not reached against all sets."""
    if case.matched is not None:
        check_few(case, text)
        return
    said = told.short(text)
    assert said.over == case.over
    options = case.options
    assert "exclude" in said.barred or not options.get("exclude")
    include = tuple(case.names[u] for u in options.get("include", ()))
    only = tuple(word for word in said.barred if word != "exclude")
    meant = told.Sets(include, only, "exclude" in said.barred)
    shares = [case.shares[s] for s in case.inside(meant)]
    low, high = said.known
    if said.what == "cannot be reached":
        assert max(shares) < level_of(case)
    elif said.what == "is not reached":
        assert high < level_of(case)
    elif said.what == "is not proved":
        assert low < level_of(case) <= high
    if said.which.startswith("the best guarantee that"):
        assert low <= max(shares) <= high
    elif said.which.startswith("the best guarantee found"):
        assert low <= max(shares)
    else:
        assert len(shares) == 1
        assert not include
    assert (len(shares) == 1 and not include) == said.which.startswith("there are no others")


def check_few(case: Decided, text: str) -> None:
    """Hold the message about too few rows that share facts against the rows."""
    least, n = case.distribution.min_rows, case.n_rows(0)
    include = frozenset(case.options.get("include", ()))
    few = re.fullmatch(
        r"min_rows = (\d+) is not reached for (?:row 0|this row): (?:(\d+) of the (\d+) rows "
        r"searched "
        r"shares? the facts in include|without a copy of the row itself, (\d+) rows are "
        r"searched)\. Lower "
        r"min_rows(?:, or include fewer features)?\.",
        text,
    )
    if few:
        assert int(few[1]) == least
        assert int(few[3] or few[4]) == n
        assert case.counted(include, 0)[1] == int(few[2] or few[4]) < least
        return
    said = told.matched(
        r"delta = (.+?) (cannot be reached|is not reached by any set found) for (?:row 0|this row)"
        r"( with the features in include)?(?:(?: and)? (without the features in exclude))?"
        r"(?:(?: and)? with ((?:\w+_only=True(?: and )?)+))?: of the sets that at least min_rows "
        r"= (\d+) of "
        r"the (\d+) rows searched share, the best (found )?by Wilson's lower bound keeps the "
        r"class in (\d+) of (\d+)\. Lower delta "
        r"or min_rows(?:, or set max_size to get the best set all the same)?\.",
        text,
    )
    assert (int(said[6]), int(said[7])) == (least, n)
    only = tuple(re.findall(r"(\w+)_only", said[5] or ""))
    names = tuple(case.names[u] for u in include) if said[3] else ()
    shares = [case.shares[s] for s in case.inside(told.Sets(names, only, bool(said[4])))]
    assert Fraction(int(said[9]), int(said[10])) in shares
    if said[2] == "cannot be reached":
        assert max(shares) < level_of(case)


def check_shared(case: Decided, said: told.Shared, size: int) -> None:
    """Hold what is said of all reasons of a size against all of them."""
    if not said.proved:
        return
    assert said.size in (None, size)
    if size == 0 and not said.needs:
        assert case.shares[frozenset()] >= level_of(case)
        return
    found = [
        s for s in case.inside(said.sets) if len(s) == size and case.shares[s] >= level_of(case)
    ]
    every, some = frozenset.intersection(*found), frozenset.union(*found)
    needs = {case.names.index(name) for name in said.needs}
    assert needs <= every
    assert every <= needs | {case.names.index(name) for name in said.perhaps}
    open_ones = {case.names.index(name) for name in (*said.perhaps, *said.maybe)}
    if not open_ones:
        assert said.others == len(some - every)
    assert said.others <= len(some - needs)
    assert len(some - needs) <= said.others + len(open_ones)


# --- what is printed of one decision ---------------------------------------------------------


class Text(HTMLParser):
    """The text of a view, paragraph by paragraph, item by item and cell by cell."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: dict[str, list[str]] = {"p": [], "li": [], "td": [], "th": []}
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in self.parts:
            self._open.append(tag)
            self.parts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.parts:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.parts[self._open[-1]][-1] += data


def explained(case: Decided) -> Any:
    """Return an explainer that is asked as the decision is."""
    return SufficientReasonExplainer(
        case.model, case.distribution, delta=case.delta, **case.options
    )


def sentences(case: Decided, text: str) -> Counter[str]:
    """Check what stands in one text behind each other: the reason, why not, and what is shared."""
    marks = (
        r"(?: (?=delta = |min_rows = )(?P<short>.+?\.(?: Exclude .+?| Allow .+?| Lower .+?)?\.))?"
    )
    found = told.matched(
        rf"(?P<reason>.+?[^ ]\)\.){marks}(?: (?P<shared>(?:Every|It is not|No other) .+))?", text
    )
    said = told.sentence(found["reason"])
    check(case, said)
    counts = Counter(["sentence"])
    if found["short"]:
        check_short(case, found["short"])
        counts["message"] += 1
    if found["shared"]:
        check_shared(case, told.shared(found["shared"]), said.size)
        counts["shared"] += 1
    return counts


def core(case: Decided) -> Counter[str]:
    """Check what the function tells."""
    options = dict(case.options)
    if "seed" in options:
        options["random_state"] = options.pop("seed")
    try:
        reason = sufficient_reason(
            case.model, case.x, delta=case.delta, distribution=case.distribution, **options
        )
    except UnreachableError as error:
        check_short(case, str(error))
        return Counter(["message"])
    check(case, told.sentence(str(reason)))
    counts = Counter(["sentence"])
    if (
        case.names[0] == "x0"
        and case.matched is None
        and len(case.truth.outputs) == 1
        and reason.guarantee.lower
    ):
        check_rule(case, reason)
        counts["rule"] += 1
    return counts


def check_rule(case: Decided, reason: Any) -> None:
    """Hold a rule's sentence against its worst corner."""
    rule = reason.rule()
    said = told.matched(
        rf"(?:If (.+): whoever satisfies it|Whoever it is) gets class (.+) with probability at "
        rf"least "
        rf"({told.NUMBER}) when the other features are replaced, over ({told.OVER})\.",
        str(rule),
    )
    assert (said[2], said[4]) == (case.label, case.over)
    some, known = (
        sorted(reason.features),
        chosen(case, tuple(said[1].split(" and ")) if said[1] else ()),
    )
    assert known <= set(some)
    free = [u for u in some if u not in known]
    for values in product((0, 1), repeat=len(free)):
        x = case.x.copy()
        x[free] = values
        kept = replace(case.truth, x=x).kept(some, case.truth.label)
        assert Fraction(said[3]) <= Fraction(kept, sum(case.truth.chances))


def views(case: Decided) -> Counter[str]:
    """Check what an explainer tells: sentences, both notebook views, the frame and its CSV."""
    explainer, counts = explained(case), Counter()
    certified = "method" not in case.options and "cost" not in case.options
    found = explainer(case.x[None, :], alternatives=certified)
    reason = found.reasons[0]
    counts += sentences(case, found.describe(0))
    alone = certified and found.status[0] == "ok"
    if alone:
        check_shared(case, told.shared(str(found.alternatives[0])), reason.size)
        others = found.alternatives.to_frame().iloc[0]
        minimal = frozenset(reason.features)
        check_word(case, others["minimality"], others.get("scope", ""), minimal)
        counts["shared"] += 1
    counts += check_card(case, found[0]._repr_html_())
    for whole in (found, found.reasons):
        counts += check_table(case, whole._repr_html_())
    line = found.to_frame().iloc[0]
    some = frozenset(case.names.index(name) for name in line["reason"])
    assert told.cell(str(line["reason"])) == tuple(case.facts[u] for u in reason.features)
    assert chosen(case, told.cell(str(line["against"]))) == {
        u for u in some if case.leanings[u] < 0
    }
    check_word(case, line["minimality"], line.get("scope", ""), some)
    streamed = explainer.explain_frame(case.x[None, :]).iloc[0]
    assert streamed.get("scope", "") == line.get("scope", "")
    assert streamed["minimality"] == line["minimality"]
    if case.matched is None:
        assert Fraction(line["guarantee_lower"]) <= case.shares[some]
        assert Fraction(line["guarantee_upper"]) >= case.shares[some]
    counts["frame"] += 1
    if certified and case.matched is None:
        counts += breaking(case, explainer)
        counts += opened(case)
        counts += coded(case, found)
    return counts


def check_card(case: Decided, html: str) -> Counter[str]:
    """Check the view of one row."""
    parts = Text(html).parts
    head, size, over, *more = parts["p"]
    told_facts = tuple(fact for fact in parts["li"] if not fact.startswith("although "))
    although = tuple(
        fact.removeprefix("although ") for fact in parts["li"] if fact.startswith("although ")
    )
    found = told.matched(
        rf"Row 0: class (.+) is kept (?:with probability at least ({told.NUMBER})(?:, with "
        rf"confidence "
        rf"({told.NUMBER}))?, (given|whatever the features are)|in at least ({told.NUMBER}) of "
        rf"the rows that "
        rf"share these facts, with confidence ({told.NUMBER}))",
        head,
    )
    counted = told.matched(rf"{told.SIZE}; (?P<claim>.+)\.", size)
    if case.matched is None:
        assert over == f"Over {case.over}."
    else:
        check(
            case,
            told.sentence(
                over if not more else over.partition(" delta = ")[0].partition(" min_rows = ")[0]
            ),
        )
    lower, trust = Fraction(found[2] or found[5]), Fraction(found[3] or found[6] or 1)
    some = chosen(case, told_facts + although)
    assert found[1] == case.label
    assert case.matched is not None or (found[4] == "given") == bool(some)
    assert chosen(case, although) == {u for u in some if case.leanings[u] < 0}
    assert (int(counted["size"]), int(counted["n"])) == (len(some), len(case.x))
    if case.matched is None:
        assert lower <= case.shares[some]
    check_claim(case, told.claim(counted["claim"]), some, trust)
    counts = Counter(["card"])
    for text in more:
        if text.startswith("unreachable: "):
            check_short(case, text.removeprefix("unreachable: "))
        else:
            check_shared(case, told.shared(text), len(some))
        counts["card"] += 1
    return counts


def check_table(case: Decided, html: str) -> Counter[str]:
    """Check the view of several rows, here one."""
    parts = Text(html).parts
    head, over, *among = parts["p"]
    level = told.matched(r"Sufficient reasons of 1 row at delta = (.+)", head)[1]
    assert Fraction(level) == level_of(case)
    assert over == (f"Over {case.over}." if case.matched is None else over)
    line = dict(zip(parts["th"], parts["td"], strict=True))
    marked = told.cell(line["reason"]) if line["reason"] != "whatever the features are" else ()
    some = chosen(case, tuple(fact.removeprefix("although ") for fact in marked))
    assert chosen(
        case,
        tuple(fact.removeprefix("although ") for fact in marked if fact.startswith("although ")),
    ) == {u for u in some if case.leanings[u] < 0}
    assert (line["row"], line["class"], line["features"]) == ("0", case.label, str(len(some)))
    assert "cost" not in line or Fraction(line["cost"]) == case.price(some)
    if case.matched is None:
        assert Fraction(line["guarantee"].removeprefix("≥ ")) <= case.shares[some]
    those = told.matched(r"Proved among the sets (.+)\.", *among)[1] if among else ""
    check_word(case, line["proved"], those, some)
    status, _, message = line.get("status", "ok").partition(": ")
    assert status in ("ok", "unreachable")
    if message:
        check_short(case, message)
    return Counter(["table"])


def breaking(case: Decided, explainer: Any) -> Counter[str]:
    """Check what is told of the features without which a decision does not stand."""
    (own,) = explainer.breaking_sets(case.x[None, :])
    told_of = [] if own is None else [(case, str(own))]
    plain = replace(case, options={})
    try:
        found = breaking_set(case.model, case.x, delta=case.delta, distribution=case.distribution)
        told_of.append((plain, str(found)))
    except UnreachableError as error:
        told_of.append((plain, str(error)))
    for one, text in told_of:
        if text.startswith(("It stays", "nothing breaks")):
            check_unbroken(one, text)
        else:
            check_broken(one, told.broken(text))
    return Counter({"breaking": len(told_of)})


def check_broken(case: Decided, said: told.Broken) -> None:
    """Hold a breaking set against all sets of the others."""
    broken = {case.names.index(name) for name in said.names}
    assert (said.label, said.over, said.delta) == (case.label, case.over, level_of(case))
    include = tuple(case.names[u] for u in case.options.get("include", ()))
    assert case.named(said.sets.include) in (set(), case.named(include))
    within = list(case.inside(replace(said.sets, include=include)))
    others = [s for s in within if not s & broken]
    best = max(case.shares[s] for s in others)
    assert best < said.delta
    assert said.best[0] <= best
    assert said.others == bool(frozenset.union(*within) - broken)
    if said.sets.none:
        allowed = told.Sets(
            only=tuple(k[:-5] for k in case.options if k.endswith("_only")), allowed=True
        )
        assert set(case.inside(allowed)) == {frozenset()}
    assert bool(broken) != (said.claim == "nothing need be left out to break it")
    for size in range(len(broken)):
        if said.claim == "none of them can be spared":
            tried = combinations(broken, size)
        elif said.claim == "no fewer features break it":
            tried = combinations(set(range(len(case.x))) - case.named(include), size)
        else:
            tried = iter(())
        for fewer in map(set, tried):
            left = [s for s in case.inside(replace(said.sets, include=include)) if not s & fewer]
            assert any(case.shares[s] >= said.delta for s in left), fewer


def check_unbroken(case: Decided, text: str) -> None:
    """Hold what is said where nothing is proved to break a decision."""
    said = told.unbroken(text)
    share = case.shares[frozenset(case.named(said.include))]
    assert (said.label, said.over, said.delta) == (case.label, case.over, level_of(case))
    assert said.known[0] <= share <= said.known[1]
    assert not said.proved or share >= said.delta


def opened(case: Decided) -> Counter[str]:
    """Check what is told of a decision of which some features are not known."""
    d = len(case.x)
    unknown = [u for u in range(d) if (len(case.names[0]) + 3 * u + d) % 2]
    seen = outlook(
        case.model, case.x, unknown=unknown, delta=case.delta, distribution=case.distribution
    )
    said = told.outlook(str(seen))
    classes, known = [str(c) for c in case.model.classes], frozenset(range(d)) - set(unknown)
    shares = [case.truth.shares(k)[known] for k in range(len(classes))]
    assert (said.over, said.unknown, said.n_units) == (case.over, len(unknown), d)
    assert said.known[0] <= shares[classes.index(said.label)] <= said.known[1]
    assert said.delta == level_of(case)
    assert said.word != "settled" or shares[classes.index(said.label)] >= said.delta
    assert said.word != "not settled" or max(shares) < said.delta
    counts = Counter(["outlook"])
    if seen.reason is not None:
        told_of = told.sentence(str(seen.reason))
        of_label = OfLabel(case, classes.index(told_of.label), unknown)
        check(of_label.decided, told_of)
        counts["sentence"] += 1
    return counts


class OfLabel:
    """A decision of which a class is given, and some features stand as they may."""

    def __init__(self, case: Decided, label: int, unknown: list[int]) -> None:
        truth = Labelled(
            case.truth.outputs,
            case.truth.thresholds,
            case.truth.x,
            case.truth.rows,
            case.truth.chances,
        )
        object.__setattr__(truth, "of", label)
        options = {"exclude": unknown} if unknown else {}
        self.decided = AnyLeaning(
            **{**{k: getattr(case, k) for k in case.__dataclass_fields__},
               "truth": truth, "options": options}
        )  # fmt: skip


class Labelled(Listed):
    """Completions that have some class, whatever that of the instance is."""

    of: int

    @property
    def label(self) -> int:
        return self.of


class AnyLeaning(Decided):
    """What a fact speaks for is not asked: of several classes that is told of a whole row."""


def coded(case: Decided, found: Any) -> Counter[str]:
    """Check the statement about reason codes."""
    d = len(case.x)
    names = [name for u, name in enumerate(case.names) if (u + d) % 3]
    barred = [name for u, name in enumerate(case.names) if (u + d) % 4 == 1]
    if not names:
        return Counter()
    codes = {name: (f"R{u // 2}", f"Because of {name}") for u, name in enumerate(names)}
    adverse = case.model.classes[case.truth.label]
    row = reason_codes(found, codes, adverse=adverse, protected=barred, max_codes=1 + d % 3)[0]
    said = told.statement(row.statement)
    some = frozenset(case.names.index(name) for name in row.features)
    assert said.codes == len(row.codes) == len({codes[name][0] for name in row.features})
    assert said.label == case.label
    assert said.lower <= case.shares[some]
    assert said.omitted not in row.features
    allowed = {u for u, name in enumerate(case.names) if name in codes and name not in barred}
    speaks = {u for u in range(d) if case.leanings[u] > 0}
    if said.delta is not None:
        assert said.delta == level_of(case)
        for s, share in case.shares.items():
            enough = s <= allowed & speaks and share >= said.delta
            assert not enough or len(s) >= len(some) + said.more
    assert set(said.used) <= set(barred)
    wide = [share for s, share in case.shares.items()
            if s <= (allowed | {case.names.index(n) for n in barred}) & speaks]  # fmt: skip
    assert not said.lost or max(wide) >= case.shares[some] + said.lost * Fraction(99, 100)
    return Counter(["statement"])


# --- all of them -----------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_printed_is_true(part: int):
    """Every sentence, view and cell of random decisions is in the grammar, and is true."""
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(part, CASES, PARTS):
            case = decided(seed)
            try:
                counts += core(case) + views(case)
            except Exception as error:
                error.add_note(f"seed {seed}: {case.law}, delta {case.delta}, {case.options}")
                raise
    assert counts["sentence"] >= CASES // PARTS
    # Of every kind there is something.
    kinds = {"sentence", "message", "shared", "card", "table", "frame", "breaking", "outlook"}
    assert kinds | {"statement", "rule"} <= counts.keys()
