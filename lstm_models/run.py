"""One case in this process, for a person who looks closer: what ran, how right, how long."""

from __future__ import annotations

import math
import os
from typing import Any, Optional, Sequence

from lstm_models import availability, kernels
from lstm_models.backends import backend
from lstm_models.case import Case
from lstm_models.problem import Problem

#: A round lasts at least this long, so that clock readings and wake-ups do not count (METHOD: 20 ms).
SECONDS_PER_ROUND = 0.02
#: Calls in a trace: enough to tell the first from the others, few enough to read.
TRACED_CALLS = 3


def run(case: Case, rounds: int, trace: Optional[str], engine: Any = None) -> int:
    """Open, prove and time the case and print what was found. Returns 1 where another kernel or device than asked
    for ran, else 0; raises :class:`Problem` where the case cannot exist or computes something else."""
    reason = availability.unavailable(case)
    if reason is not None:
        raise Problem("open", f"{case.key} cannot exist: {reason}")
    if engine is None:
        from lstm_models.engine import Engine

        engine = Engine()
    engine.warm_up()
    opened = engine.open(case.to_plain())
    try:
        status = _print_facts(case, opened)
        _print_times(case, engine, rounds)
        if trace is not None:
            _trace(engine, trace)
    finally:
        engine.close()
    return status


def _print_facts(case: Case, opened: dict[str, Any]) -> int:
    facts = opened["facts"]
    asked, found = kernels.expected(case), facts["kernel"]
    wrong = (asked is not None and asked != found) or facts["device"] != str(case.device)
    print(f"{case.key}")
    print(f"  ran            {found} on {facts['device']}" + (f", NOT {asked} on {case.device}" if wrong else ""))
    print(f"  settings       {', '.join(f'{name}={text}' for name, text in facts['resolved'].items())}")
    for name in ("output_error", "gradient_error"):
        error = facts[name]
        text = "nothing to compare" if error is None else f"{error:.1e} of the float64 reference's scale"
        print(f"  {name.replace('_', ' '):<14} {text}")
    print(f"  first call     {opened['first_call_seconds']:.3g} s, traced {facts['first_call_traces']} time(s)")
    peak = opened["bytes_peak"]
    print(f"  peak memory    {'not known here' if peak is None else f'{peak / 2**20:.0f} MiB over what was there'}")
    return 1 if wrong else 0


def _print_times(case: Case, engine: Any, rounds: int) -> None:
    once = engine.run(1, 1)["seconds"][0]
    calls = max(1, math.ceil(SECONDS_PER_ROUND / max(once, 1e-9)))
    engine.run(1, calls)  # one more that does not count
    timed = engine.run(rounds, calls)
    steps = calls * case.steps_per_call
    low, middle, high = _quartiles([seconds / steps for seconds in timed["seconds"]])
    unit = "token" if case.workload.decode_tokens and str(case.path) == "predict" else "step"
    print(
        f"  time           {_time(middle)} per {unit}; middle half of the rounds {_time(low)} to {_time(high)} "
        f"({rounds} rounds of {steps} {unit}s)"
    )
    of_samples = f"{_digits(case.batch / middle)} {'tokens' if unit == 'token' else 'samples'}/s"
    print(f"  rate           {of_samples}" + (f", {_digits(1 / middle)} steps/s" if unit == "step" else ""))
    if timed["call_seconds"]:
        print(f"  single calls   {', '.join(_percentiles(timed['call_seconds']))}")
    if timed["traces"]:
        print(f"  TRACED         {timed['traces']} time(s) while it was timed: these times hold tracing")


def _trace(engine: Any, folder: str) -> None:
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise Problem("run", f"--trace {folder}: there is a file of this name; give a folder.")
    with backend().profile(folder):
        engine.run(1, TRACED_CALLS)
    file = os.path.join(folder, "trace.json")
    shown = f"tensorboard --logdir {folder} (with its profile plugin)"
    if os.path.exists(file):
        shown = f"open {file} in ui.perfetto.dev or chrome://tracing"
    print(f"  trace          {TRACED_CALLS} calls, in {folder}: {shown}")


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    return _quantile(values, 0.25), _quantile(values, 0.5), _quantile(values, 0.75)


def _quantile(values: Sequence[float], share: float) -> float:
    """Linear between the order statistics."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _percentiles(seconds: Sequence[float]) -> list[str]:
    return [f"p{percent} {_time(_quantile(seconds, percent / 100))}" for percent in (50, 95, 99)]


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds * 1e6)} µs"


def _digits(number: float) -> str:
    """Three significant digits, written out."""
    if number <= 0 or not math.isfinite(number):
        return str(number)
    places = max(0, 2 - math.floor(math.log10(number)))
    return f"{number:,.{places}f}"
