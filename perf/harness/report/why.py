"""Why it takes as long as it does, for the terminal. Pure: an account in, text out; nothing is decided here."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from perf.harness.numbers import per_second, percent, ratio, seconds
from perf.harness.report.layout import WIDTH, table
from perf.harness.why.bound import OF_PEAK
from perf.harness.why.recommend import BATCHES
from perf.harness.why.records import Account, Bound, Copied, Overhead, Reason, Recommendation, Who

HEAD = "What takes more than half of a step of what Keras runs by itself"


@dataclass(frozen=True, slots=True)
class WhyTable:
    """What a table shows, for the terminal and the page alike."""

    head: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        return f"{self.head}\n{table(self.rows, self.headers)}"


def why_section(account: Account) -> str:
    """Factors, recommendations and a sentence per workload; "" where nothing was measured that tells anything."""
    parts = [each.text for each in tables(account)]
    if said := sentences(account):
        wrapped = (line for text in said for line in textwrap.wrap(text, WIDTH, subsequent_indent="  "))
        parts.append("\n".join([HEAD, *wrapped]))
    remarks = "\n".join(line for text in lines(account) for line in textwrap.wrap(text, WIDTH, subsequent_indent="  "))
    return "\n\n".join(["Why", *([remarks] if remarks else []), *parts]) if parts else ""


def lines(account: Account) -> list[str]:
    """What matrix products reach on each device, and which of the factors that people name nothing isolated."""
    found = []
    if rates := [f"{device} {precision} {per_second(rate)}" for (device, precision), rate in account.peaks.items()]:
        found.append(f"Matrix products, operations per second at best: {'; '.join(rates)}.")
    if account.effects and account.not_measured:
        found.append(f"Factors not measured in this session: {', '.join(account.not_measured)}.")
    return found


def tables(account: Account) -> list[WhyTable]:
    """Those that have a row."""
    found = (_factors(account), _overheads(account), _transfers(account), _recommendations(account), _paybacks(account))
    return [each for each in found if each.rows]


def _factors(account: Account) -> WhyTable:
    return WhyTable(
        "What each factor does, changed alone: time per step after the change, as a ratio to before",
        ("factor", "changed", "time per step", "measured on"),
        tuple((one.factor, f"{one.before} -> {one.after}", ratio(one.change), one.on) for one in account.effects),
    )


def _overheads(account: Account) -> WhyTable:
    return WhyTable(
        "What Keras's own loops add to the bare step (fit updates the weights besides)",
        ("case", "bare step", "adds, per step", "ratio"),
        tuple(
            (_case(one), one.bare, seconds(one.added_seconds_per_step), ratio(one.change)) for one in account.overheads
        ),
    )


def _transfers(account: Account) -> WhyTable:
    return WhyTable(
        "What copying its inputs to the GPU would take of a step",
        ("case", "of a step"),
        tuple((_case(one), percent(one.share)) for one in account.transfers),
    )


def _case(one: Overhead | Copied) -> str:
    return f"{one.who.path} {one.who.workload}-b{one.batch} {one.who.choice}{_precision(one.who)}"


def _recommendations(account: Account) -> WhyTable:
    rows = []
    for (workload, path, precision, _), found in account.recommendations.items():
        if any(each.best is not None for each in found):
            name = f"{path} {workload}" + ("" if precision == "float32" else f" {precision}")
            rows.append((name, *(recommended(each) for each in found)))
    return WhyTable(
        "What to use, of what was measured; below it what is as fast, and what the next one takes",
        ("", *(f"batch {batch}" for batch in BATCHES)),
        tuple(rows),
    )


def recommended(found: Recommendation) -> str:
    """``xla on cpu``, and a line each for what is as fast, what cannot be told, and what the next one takes."""
    if found.best is None:
        return "not measured"
    parts = [found.best.choice + (" (by cost line)" if found.estimated else "")]
    if found.ties and found.tie_within is not None:
        parts += [f"or {who.choice}" for who in found.ties]
        parts[-1] += f", within {100 * (found.tie_within - 1):.2g} %"
    parts += [f"{who.choice}: cannot tell" for who in found.open]
    if found.then is not None and found.change is not None:
        parts.append(f"{found.then.choice}: ×{ratio(found.change)}")
    return "\n".join(parts if len(parts) > 1 else [*parts, "nothing else measured"])


def _paybacks(account: Account) -> WhyTable:
    return WhyTable(
        "From how many steps on the faster one has earned its dearer start",
        ("", "faster", "than", "more before the first step", "pays from, steps"),
        tuple(
            (
                f"{one.fast.path} {one.fast.workload}-b{one.batch}{_precision(one.fast)}",
                one.fast.choice,
                one.slow.choice,
                seconds(one.extra_seconds),
                "cannot tell" if one.steps is None else per_second(one.steps),
            )
            for one in account.paybacks
        ),
    )


def sentences(account: Account) -> list[str]:
    """One sentence per workload, path and device; those of which nothing can be told are named in the last."""
    said, unknown = [], []
    for who, group in itertools.groupby(account.reasons, key=lambda reason: reason.who):
        of_who = list(group)
        if any(reason.bound is not Bound.UNKNOWN or reason.number for reason in of_who):
            said.append(_sentence(who, of_who))
        else:
            batches = _listed(str(reason.batch) for reason in of_who)
            unknown.append(f"{who.path} {who.workload} ({who.choice}{_precision(who)}, batch {batches})")
    if unknown:
        said.append(
            f"Cannot tell, of too few batches and with nothing else clear enough: {', '.join(dict.fromkeys(unknown))}."
        )
    return said


def _sentence(who: Who, reasons: list[Reason]) -> str:
    parts = []
    for (bound, meaning), group in itertools.groupby(reasons, key=lambda reason: (reason.bound, reason.meaning)):
        same = list(group)
        verb = "cannot tell" if bound is Bound.UNKNOWN else f"bound by {bound}"
        numbers = _listed(reason.number for reason in same)
        parts.append(
            f"at batch {_listed(str(reason.batch) for reason in same)} {verb} ({f'{numbers} {meaning}'.strip()})"
        )
    text = f"{who.path} {who.workload}, {who.choice}{_precision(who)}: {', '.join(parts)}."
    shares = {reason.batch: reason.share_of_peak for reason in reasons if reason.meaning != OF_PEAK}
    known = [(str(batch), percent(share)) for batch, share in shares.items() if share is not None]
    if not known:
        return text
    batches, numbers = zip(*dict.fromkeys((known[0], known[-1])), strict=True)
    return f"{text} At batch {_listed(batches)} it reaches {_listed(numbers)} {OF_PEAK}."


def _listed(words: Iterable[str]) -> str:
    """``1, 8 and 32``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _precision(who: Who) -> str:
    return "" if who.precision == "float32" else f" {who.precision}"
