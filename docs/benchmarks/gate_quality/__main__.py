"""``python -m docs.benchmarks.gate_quality live | replay | table``: how good the paired gate is.

``live`` runs real sessions and appends each to the ledger, ``replay`` judges their rounds again, many times over and
by other tools' rules, ``table`` renders the ledger. docs/gate-quality.md says what the figures mean.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from docs.benchmarks.gate_quality import cases, draws, ledger, live, peers, raw, replay, tables
from docs.benchmarks.gate_quality.ledger import Against
from docs.benchmarks.gate_quality.live import Plan
from docs.benchmarks.gate_quality.markdown import put_into
from perf.harness import machine as machines
from perf.harness.argument_types import duration, positive, positive_integer
from perf.harness.errors import Refusal
from perf.harness.measure import Settings
from perf.harness.replies import CaseError
from perf.harness.schedule import draw_seed

ROOT = Path(__file__).resolve().parents[3]
LEDGER = ROOT / "docs" / "gate-quality.jsonl"
_USAGE = 4  # pytest's exit status for wrong usage, and this suite's for what is refused


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE, f"{self.format_usage()}{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 4 with one paragraph on stderr, or 130 where it was stopped."""
    asked = _parser().parse_args(arguments)
    try:
        asked.run(asked)
    except (Refusal, CaseError) as refusal:
        print(refusal, file=sys.stderr)
        return _USAGE
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> _Parser:
    parser = _Parser(prog="python -m docs.benchmarks.gate_quality", description="Measure the paired gate itself.")
    data = "of raw rounds; default: .benchmarks/<machine>/gate-quality"
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    command = commands.add_parser("live", help="real sessions; each finished one is appended to the ledger")
    command.set_defaults(run=_live)
    add = command.add_argument
    add("--inject", type=_factor, default=1.0, metavar="FACTOR", help="slow the candidate; 1.00 (default): A/A")
    add("--margin", type=positive, default=5.0, metavar="PERCENT", help="default: %(default)g")
    add("--cases", action="append", metavar="KEY|PRESET", help=f"default: mixed; presets: {', '.join(cases.PRESETS)}")
    add("--pairs", type=positive_integer, default=6, metavar="K", help="of the screen, default: %(default)s")
    add("--sessions", type=positive_integer, default=1, metavar="N", help="default: %(default)s")
    add("--budget", type=duration, metavar="TIME", help="start no session that would end later: 90s, 20m or 2h")
    add("--rebuilt", dest="against", action="store_const", const=Against.REBUILT, default=Against.SAME,
        help="the baseline runs in an environment rebuilt from the candidate's description")  # fmt: skip
    add("--seed", type=int, metavar="N", help="of the first session's orders, later ones count on; default: drawn")
    add("--data", type=Path, metavar="FOLDER", help=data)
    add("--ledger", type=Path, default=LEDGER, metavar="FILE", help="default: %(default)s")

    command = commands.add_parser("replay", help="judge the rounds of A/A sessions many times, also by other rules")
    command.set_defaults(run=_replay)
    add = command.add_argument
    add("--data", type=Path, metavar="FOLDER", help=data)
    add(
        "--sampled-at",
        type=positive,
        metavar="PERCENT",
        help="only sessions at this margin: it decides how many rounds",
    )
    add("--sessions", type=positive_integer, default=500, metavar="N", help="to be drawn, default: %(default)s")
    add("--pairs", type=positive_integer, default=6, metavar="K", help="of the screen, default: %(default)s")
    add("--seed", type=int, default=1, metavar="N", help="default: %(default)s")
    add("--into", type=Path, metavar="FILE", help="a document whose table is replaced")

    command = commands.add_parser("table", help="render the ledger as Markdown")
    command.set_defaults(run=_table)
    add = command.add_argument
    add("--ledger", type=Path, default=LEDGER, metavar="FILE", help="default: %(default)s")
    add("--into", type=Path, metavar="FILE", help="a document whose tables are replaced")
    return parser


def _live(asked: argparse.Namespace) -> None:
    # A sitting is often ended from outside; workers are to be ended then as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plan = Plan(asked.inject, asked.margin, asked.against, asked.pairs)
    specs = cases.specs(asked.cases or ["mixed"])
    live.check(plan, specs)
    ledger.read(asked.ledger)  # a damaged ledger is refused before minutes are spent
    first = draw_seed() if asked.seed is None else asked.seed
    settings = [Settings(root=ROOT, seed=first + number, margin=plan.margin_percent / 100)
                for number in range(asked.sessions)]  # fmt: skip
    both = live.sides(plan, settings[0])
    machine = machines.fingerprint()
    folder = asked.data or _folder(machine.id)
    live.run_sessions(plan, specs, settings, both, machine, folder, asked.ledger, asked.budget)


def _replay(asked: argparse.Namespace) -> None:
    rules = peers.rules(asked.seed)
    sessions = raw.read_all(asked.data or _folder(machines.fingerprint().id))
    if asked.sampled_at is not None:
        sessions = tuple(session for session in sessions if session.margin_percent == asked.sampled_at)
    pools = draws.pools(sessions, asked.pairs)
    tallies = replay.replay(
        pools, rules, sessions=asked.sessions, pairs=asked.pairs, seed=asked.seed, progress=_progress(asked.sessions)
    )
    _put(asked.into, "replay", f"{tables.replay_header(pools, asked.sessions)}\n\n{tables.replay_table(tallies)}")


def _table(asked: argparse.Namespace) -> None:
    _put(asked.into, "live", tables.live_tables(ledger.read(asked.ledger)))


def _put(path: Path | None, name: str, text: str) -> None:
    if path is None:
        print(text)
    else:
        put_into(path, name, text)


def _progress(total: int) -> Callable[[int], None]:
    """Says on stderr, every tenth of the way, how far it is: a replay takes minutes."""
    step = max(total // 10, 1)

    def told(done: int) -> None:
        if done % step == 0:
            print(f"replaying: {done} of {total} sessions", file=sys.stderr, flush=True)

    return told


def _folder(machine: str) -> Path:
    return ROOT / ".benchmarks" / machine / "gate-quality"


def _factor(text: str) -> float:
    value = positive(text)
    if value < 1:
        raise ValueError(text)
    return value


_factor.__name__ = "factor of 1 or more"

if __name__ == "__main__":
    sys.exit(main())
