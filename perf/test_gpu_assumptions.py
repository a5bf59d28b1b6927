"""What the suite takes for granted about GPUs, with ``--perf-profile gpu-check``: a test per assumption."""

from __future__ import annotations

from perf.harness.gpu_check.session import Assumed


def test_assumption(assumed: Assumed) -> None:
    """Held, or fails with what was seen; skipped with the reason where this host or a command cannot tell."""
    assumed.check()
