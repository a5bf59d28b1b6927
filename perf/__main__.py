"""``python -m perf``: what is done with stored runs and built environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from perf.harness import baseline as baselines
from perf.harness import environments, expectation_store
from perf.harness.argument_types import positive_integer
from perf.harness.environment_cache import cache_folder
from perf.harness.errors import Refusal
from perf.harness.expectation_store import Kept
from perf.harness.machine import fingerprint
from perf.harness.promote import promote
from perf.harness.records import Baseline
from perf.harness.report.promotion import promotion_table
from perf.harness.runs import BLOCK, find_run, read_run
from perf.harness.selection_records import key_of
from perf.harness.stored_report import report, runs_of

_PERF = Path(__file__).resolve().parent
_USAGE = 4  # pytest's exit status for wrong usage
_SELECT = (
    "only these: substrings of names, and, or, not; a setting of the table of kernels has the name kernel[SETTING], so "
    "-k kernel is the whole table without the cases (default: all cases and the table)"
)
_CASE = "the whole name, e.g. 'forward[translation-b1-cpu-loop-float32]', or of a setting, e.g. 'kernel[dropout]'"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE, f"{self.format_usage()}{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, or 4 with one paragraph on stderr."""
    parser = _Parser(prog="python -m perf", description="Work with stored runs and built environments.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    add = commands.add_parser("promote", help="make cases of saved runs the baseline of their machine").add_argument
    add("runs", nargs="+", metavar="RUN", help="number, name or path of a saved run; three make a good baseline")
    add("-k", dest="select", default="", metavar="EXPR", help=_SELECT)
    add("--reason", required=True, metavar="TEXT", help="why later runs are to be compared with these")
    add("--storage", type=Path, default=_PERF.parent / ".benchmarks", metavar="DIR", help="default: %(default)s")
    add("--baselines", type=Path, default=_PERF / "baselines", metavar="DIR", help="default: %(default)s")
    add = commands.add_parser("retire", help="take cases that are gone out of this machine's baseline").add_argument
    add("cases", nargs="+", metavar="CASE", help=_CASE)
    add("--baselines", type=Path, default=_PERF / "baselines", metavar="DIR", help="default: %(default)s")
    add = commands.add_parser("report", help="draw a report from saved runs, with a history of each case").add_argument
    add("folder", type=Path, metavar="DIR", help="where index.html, summary.md and report.json go")
    add("runs", nargs="*", metavar="RUN", help="number, name or path of saved runs (default: all of this machine)")
    add("--storage", type=Path, default=_PERF.parent / ".benchmarks", metavar="DIR", help="default: %(default)s")
    add("--baselines", type=Path, default=_PERF / "baselines", metavar="DIR", help="default: %(default)s")
    add = commands.add_parser("environments", help="what --perf-against built and keeps").add_argument
    add(
        "--remove-unused",
        type=positive_integer,
        metavar="DAYS",
        help="remove those unused for so long",
    )
    asked = parser.parse_args(arguments)
    try:
        if asked.command == "promote":
            print(_promote(asked.runs, asked.select, asked.reason, asked.storage, asked.baselines))
        elif asked.command == "report":
            print(_report(asked.folder, asked.runs, asked.storage, asked.baselines))
        elif asked.command == "environments":
            print(_environments(asked.remove_unused))
        else:
            print(_retire(asked.cases, asked.baselines))
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return _USAGE
    return 0


def _promote(names: Sequence[str], select: str, reason: str, storage: Path, directory: Path) -> str:
    paths = [_find(storage, name) for name in names]
    runs = [read_run(path) for path in paths]
    path = baselines.path_for(directory, runs[0].machine)
    old = baselines.load(directory, runs[0].machine) if path.is_file() else None
    promotion = promote(runs, old, select=select, reason=reason, now=datetime.now(UTC), name=str(path))
    kept = expectation_store.of_baseline(path) if old else {}
    expectations = expectation_store.promoted([expectation_store.of_run(run, BLOCK) for run in paths], kept, select)
    _write(path, promotion.baseline, expectations)
    return promotion_table(promotion, old, [id for id in expectations if expectations[id] != kept.get(id)])


def _report(folder: Path, names: Sequence[str], storage: Path, directory: Path) -> str:
    files = [_find(storage, name) for name in names] or runs_of(storage / fingerprint().id)
    return report(folder.resolve(), list(dict.fromkeys(files)), directory)


def _environments(days: int | None) -> str:
    cache = cache_folder()
    return environments.table(cache) if days is None else environments.remove_unused(cache, days, datetime.now(UTC))


def _retire(keys: Sequence[str], directory: Path) -> str:
    machine = fingerprint()
    old = baselines.load(directory, machine)
    held = [*old.cases, *map(key_of, old.selection)]
    if unknown := sorted(set(keys) - set(held)):
        raise Refusal(f"{old.name} holds no {unknown[0]!r}, and nothing was changed. It holds: {', '.join(held)}.")
    left = {key: case for key, case in old.cases.items() if key not in keys}
    settings = {setting: promoted for setting, promoted in old.selection.items() if key_of(setting) not in keys}
    if not left:
        raise Refusal(f"That would leave no case in {old.name}. Delete the file instead, and promote new runs.")
    path = baselines.path_for(directory, machine)
    _write(path, replace(old, cases=left, selection=settings), expectation_store.of_baseline(path))
    taken = len(held) - len(left) - len(settings)
    return f"{old.name}: {taken} taken out, {len(left) + len(settings)} left. Review it and commit it."


def _write(path: Path, baseline: Baseline, expectations: Mapping[str, Kept]) -> None:
    try:
        baselines.write(path, baseline, expectations)
    except OSError as error:
        raise Refusal(f"{path} could not be written and is as it was: {error.strerror or error}.") from None


def _find(storage: Path, name: str) -> Path:
    """A run by its name in the folder of whichever machine holds it: runs of several may have been copied here."""
    folders = sorted(path for path in storage.glob("*") if path.is_dir()) if storage.is_dir() else []
    found, why_not = [], []
    for folder in folders or [storage]:
        try:
            found.append(find_run(folder, name))
        except Refusal as refusal:
            why_not.append(str(refusal))
    if not found:
        raise Refusal(" ".join(why_not))
    if len(set(found)) > 1:
        paths = ", ".join(str(path) for path in found)
        raise Refusal(f"Several machines have a run {name!r}: {paths}. Name one by its path.")
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
