"""All rounds of a live session, compressed, outside version control: what the replay judges again."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from docs.benchmarks.gate_quality.ledger import Against
from perf.harness.entry import parse_json
from perf.harness.errors import Refusal
from perf.harness.paired_codec import decode_measured, encode_measured
from perf.harness.paired_records import PairedMeasured

SUFFIX = ".json.gz"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class RawSession:
    """What one session measured, and under which ``factor`` and margin."""

    name: str
    factor: float
    margin_percent: float
    against: Against
    screening: PairedMeasured
    confirmation: PairedMeasured | None


def write(folder: Path, session: RawSession) -> int:
    """Writes the session whole or not at all; returns the size of its file in bytes. ``OSError`` where it cannot."""
    confirmation = None if session.confirmation is None else encode_measured(session.confirmation)
    plain = {
        "schema": SCHEMA,
        "factor": session.factor,
        "margin_percent": session.margin_percent,
        "against": session.against,
        "screening": encode_measured(session.screening),
        "confirmation": confirmation,
    }
    content = gzip.compress(json.dumps(plain, allow_nan=False).encode())
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{session.name}.part"
    try:
        part.write_bytes(content)
        os.replace(part, folder / f"{session.name}{SUFFIX}")
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return len(content)


def read(path: Path) -> RawSession:
    """Inverse of :func:`write`; raises :class:`Refusal` naming the file and the entry."""
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise Refusal(f"{path}: cannot be read: {error}. Move it away; its ledger line stays true.") from None
    entry = parse_json(text, path).closed("schema", "factor", "margin_percent", "against", "screening", "confirmation")
    if entry["schema"].integer(minimum=1) > SCHEMA:
        entry["schema"].refuse(f"a form up to {SCHEMA}")
    confirmation = entry["confirmation"]
    return RawSession(
        name=path.name.removesuffix(SUFFIX),
        factor=entry["factor"].positive(),
        margin_percent=entry["margin_percent"].positive(),
        against=Against(entry["against"].text(list(Against))),
        screening=decode_measured(entry["screening"]),
        confirmation=None if confirmation.value is None else decode_measured(confirmation),
    )


def read_all(folder: Path) -> tuple[RawSession, ...]:
    """Every session under ``folder``, oldest first; raises :class:`Refusal` for one that is damaged."""
    return tuple(read(path) for path in sorted(folder.glob(f"*{SUFFIX}")))
