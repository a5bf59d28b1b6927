"""Which kernel Keras would pick on a GPU host, found by tracing: a test per setting of the LSTM, in all its places."""

from __future__ import annotations

from perf.harness.selection_verdict import Selected


def test_kernel(selected: Selected) -> None:
    """Inference and training, bare and in models, cloned, saved and loaded, under mixed precision."""
    selected.check()
