"""What was read around the rounds, where a person has to know of it. Pure: records in, text out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perf.harness.numbers import counted
from perf.harness.paired_records import PairedResult
from perf.harness.records import CaseResult, Sample


def conditions_lines(results: Mapping[str, CaseResult | PairedResult]) -> str:
    """Blocks of rounds that were void and repeated, by case, and what was noted of the GPU; "" where there is none."""
    lines = []
    notes: Counter[str] = Counter()
    for key, result in results.items():
        found = [sample.conditions for sample in _samples(result) if sample.conditions is not None]
        void = [why for conditions in found for why in conditions.blocks_void]
        if void:
            lines.append(void_line(key, void))
        notes.update({note for conditions in found for note in conditions.notes})
    lines += [f"noted of the GPU: {note} (in {counted(cases, 'case')})" for note, cases in notes.items()]
    return "\n".join(lines)


def void_line(key: str, why: Sequence[str]) -> str:
    """How many blocks of rounds of a case were void and repeated, and why."""
    return f"void and repeated: {counted(len(why), 'block')} of rounds of {key}: {'; '.join(dict.fromkeys(why))}"


def _samples(result: CaseResult | PairedResult) -> Sequence[Sample]:
    if isinstance(result, CaseResult):
        return result.samples
    return [sample for pair in result.pairs for sample in (pair.baseline, pair.candidate)]
