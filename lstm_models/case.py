"""One measurable case: path x workload x batch x device x kernel x precision, and its stable id."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Mapping, Optional

from lstm_models.words import Device, Framework, Inputs, Kernel, Path, Precision
from lstm_models.workloads import Workload

#: Batches that one call of fit, evaluate or predict runs. With few batches the call's own overhead hides the
#: kernel (translation, batch 32, fit: 115 ms per step at 1 batch, 11.7 at 32), so the number belongs to the case.
BATCHES_PER_CALL = 32

#: Raise it by hand when what is timed changes for unchanged records: older results are then not compared with.
WORK_VERSION = 1

_ID = re.compile(
    r"(?P<workload>.+)-b(?P<batch>[1-9][0-9]*)(?:x(?P<batches>[1-9][0-9]*))?"
    rf"-(?P<device>{'|'.join(Device)})-(?P<kernel>{'|'.join(Kernel)})-(?P<precision>{'|'.join(Precision)})"
    rf"(?:-(?P<inputs>{Inputs.HOST}))?(?:-(?P<framework>{'|'.join(Framework)}))?"
)
_KEY = re.compile(rf"(?:.*::)?(?:test_)?(?P<path>{'|'.join(Path)})\[(?P<id>.+)\]")


@dataclass(frozen=True)
class Case:
    """What is run. Equal cases do equal work.

    ``batch`` counts samples per step. ``batches`` are those of one call of fit or evaluate, where they are not
    :data:`BATCHES_PER_CALL`. ``framework`` is what Keras runs on; TensorFlow, its default, stands in no id.
    ``inputs`` on the host are copied at every call of forward; on the device, they stand in no id.
    """

    path: Path
    workload: Workload
    batch: int
    device: Device
    kernel: Kernel
    precision: Precision = Precision.FLOAT32
    batches: Optional[int] = None
    framework: Framework = Framework.TENSORFLOW
    inputs: Inputs = Inputs.DEVICE

    @property
    def id(self) -> str:
        """Parameter id, e.g. ``translation-b32-cpu-loop-float32``."""
        batches = "" if self.batches is None else f"x{self.batches}"
        framework = "" if self.framework is Framework.TENSORFLOW else f"-{self.framework}"
        rest = f"{'' if self.inputs is Inputs.DEVICE else f'-{self.inputs}'}{framework}"
        return f"{self.workload.name}-b{self.batch}{batches}-{self.device}-{self.kernel}-{self.precision}{rest}"

    @property
    def key(self) -> str:
        """Unique name within the suite, e.g. ``forward[translation-b32-cpu-loop-float32]``."""
        return f"{self.path}[{self.id}]"

    @property
    def steps_per_call(self) -> int:
        """Steps in one call of the case's callable: batches for fit, evaluate and predict, tokens when decoding."""
        if self.path in (Path.FORWARD, Path.BACKWARD):
            return 1
        if self.batches is not None and self.path in (Path.FIT, Path.EVALUATE):
            return self.batches
        if self.path is Path.PREDICT and self.workload.decode_tokens:
            return self.workload.decode_tokens
        if self.path is Path.PREDICT and self.batch == 1:
            return 1
        return BATCHES_PER_CALL

    @property
    def keeps_calls(self) -> bool:
        """Whether every single call is timed by itself: one-sample prediction, where the tail is the question."""
        return self.path is Path.PREDICT and self.batch == 1

    @property
    def hash(self) -> str:
        """Digest of all that defines the work; equal hashes may be compared across runs. 16 hex digits."""
        plain = self.to_plain()
        del plain["workload"]["saved"]  # where the file lies is no part of the work; its digest is
        text = json.dumps({**plain, "work_version": WORK_VERSION}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_plain(self) -> dict[str, Any]:
        """The case as builtins, for a worker's channel and for the hash."""
        return {
            "path": str(self.path),
            "workload": self.workload.to_plain(),
            "batch": self.batch,
            "device": str(self.device),
            "kernel": str(self.kernel),
            "precision": str(self.precision),
            "steps_per_call": self.steps_per_call,
            # Not there where it is the default: what was stored before there were others stays comparable.
            **({} if self.framework is Framework.TENSORFLOW else {"framework": str(self.framework)}),
            **({} if self.inputs is Inputs.DEVICE else {"inputs": str(self.inputs)}),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Case:
        """Inverse of :meth:`to_plain`; ``steps_per_call`` is read where the case may have its own, else derived."""
        path, batches = Path(plain["path"]), plain.get("steps_per_call", BATCHES_PER_CALL)
        own = path in (Path.FIT, Path.EVALUATE) and batches != BATCHES_PER_CALL
        return cls(
            path=path,
            workload=Workload.from_plain(plain["workload"]),
            batch=plain["batch"],
            device=Device(plain["device"]),
            kernel=Kernel(plain["kernel"]),
            precision=Precision(plain["precision"]),
            batches=batches if own else None,
            framework=Framework(plain.get("framework", Framework.TENSORFLOW)),
            inputs=Inputs(plain.get("inputs", Inputs.DEVICE)),
        )

    @classmethod
    def parse(cls, text: str, workloads: Mapping[str, Workload]) -> Case:
        """A case from its key or pytest node id; raises ``ValueError`` saying what was expected."""
        key = _KEY.fullmatch(text)
        parts = _ID.fullmatch(key["id"]) if key else None
        if key is None or parts is None:
            raise ValueError(
                f"{text!r} is not a case. A case looks like forward[translation-b32-cpu-loop-float32]: "
                "path[workload-bBATCH-device-kernel-precision], after it -host where a forward call is given arrays of "
                "the host, and -jax or -torch where Keras runs on these; "
                "'python -m lstm_models list' shows all."
            )
        if parts["workload"] not in workloads:
            raise ValueError(f"{text!r}: no workload {parts['workload']!r}; there are: {', '.join(workloads)}.")
        return cls(
            path=Path(key["path"]),
            workload=workloads[parts["workload"]],
            batch=int(parts["batch"]),
            device=Device(parts["device"]),
            kernel=Kernel(parts["kernel"]),
            precision=Precision(parts["precision"]),
            batches=int(parts["batches"]) if parts["batches"] else None,
            framework=Framework(parts["framework"] or Framework.TENSORFLOW),
            inputs=Inputs(parts["inputs"] or Inputs.DEVICE),
        )
