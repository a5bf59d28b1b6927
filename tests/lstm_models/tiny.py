"""Tiny workloads: every option of a layer once, small enough to be traced in a fraction of a second."""

from __future__ import annotations

from dataclasses import replace

from lstm_models.case import Case
from lstm_models.words import Device, Kernel, Path, Precision
from lstm_models.workloads import Workload

FEATURES = Workload("features", "test", units=3, timesteps=4, features=5)
TOKENS = Workload("tokens", "test", units=3, timesteps=4, vocabulary=11, embedding=5, head="softmax", outputs=11)
CHATBOT = Workload(
    "chatbot",
    "test",
    kind="encoder-decoder",
    units=6,
    timesteps=4,
    vocabulary=11,
    embedding=5,
    return_sequences=True,
    head="softmax",
    outputs=11,
    decode_tokens=5,
)

ALL = {
    workload.name: workload
    for workload in (
        FEATURES,
        TOKENS,
        CHATBOT,
        replace(FEATURES, name="bidirectional", layers=2, bidirectional=True, head="sigmoid", outputs=1),
        replace(FEATURES, name="sequences", layers=2, return_sequences=True, head="linear", outputs=2),
        replace(FEATURES, name="dropout", dropout=0.5),
        replace(FEATURES, name="recurrent-dropout", recurrent_dropout=0.5),
        replace(FEATURES, name="relu", activation="relu"),
        replace(FEATURES, name="no-bias", use_bias=False),
        replace(FEATURES, name="mask-right", mask="right"),
        replace(TOKENS, name="mask-left", mask="left"),
        replace(FEATURES, name="stateful", stateful=True),
    )
}


def case(
    workload: Workload,
    path: Path = Path.FORWARD,
    kernel: Kernel = Kernel.LOOP,
    precision: Precision = Precision.FLOAT32,
    batch: int = 2,
    device: Device = Device.CPU,
) -> Case:
    """A case on the CPU, batch 2, loop kernel, unless said otherwise."""
    return Case(path, workload, batch, device, kernel, precision)
