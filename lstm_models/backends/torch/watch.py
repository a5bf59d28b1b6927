"""Looking at the ops of each LSTM while it runs eagerly."""

from __future__ import annotations

import functools
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, Optional

from lstm_models.backends.torch.counts import FUSED, PRODUCTS, Call, Counts
from lstm_models.keras_layers import keras

#: LSTM calls that are looked at: several passes of any model; the rest of 32 batches says the same and takes long.
MOST_WATCHED = 64


@contextmanager
def watched() -> Iterator[Counts]:
    """Counts what runs inside; eager code only, since a compiled function would be compiled anew for it.

    An LSTM's time steps are its ``inner_loop``. Around those of both directions stands a ``Bidirectional``, which may
    also run them as one op.
    """
    watcher, layers = _Watcher(), keras().layers
    with ExitStack() as stack:
        for kind in (layers.RNN, layers.LSTM):
            stack.enter_context(_replaced(kind, "inner_loop", watcher.lstm))
        stack.enter_context(_replaced(layers.Bidirectional, "call", watcher.both))
        yield watcher.counts


@contextmanager
def _replaced(kind: Any, name: str, around: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """The class's method runs within ``around``."""
    inner = getattr(kind, name)

    @functools.wraps(inner)
    def method(*args: Any, **options: Any) -> Any:
        return around(functools.partial(inner, *args, **options))

    setattr(kind, name, method)
    try:
        yield
    finally:
        setattr(kind, name, inner)


class _Watcher:
    def __init__(self) -> None:
        self.counts = Counts()
        self._into: Optional[Call] = None  # where ops are counted now
        self._in_lstm = False

    def lstm(self, run: Callable[[], Any]) -> Any:
        """``inner_loop``; LSTM leaves its own to that of RNN, which is the same call."""
        counts = self.counts
        if self._in_lstm:
            return run()
        self._in_lstm = True
        try:
            if len(counts.calls) == MOST_WATCHED:
                counts.unwatched += 1
                return run()
            counts.calls.append(Call())
            return self._counted(run, counts.calls[-1])
        finally:
            self._in_lstm = False

    def both(self, run: Callable[[], Any]) -> Any:
        """``Bidirectional.call``."""
        if len(self.counts.calls) == MOST_WATCHED:
            return run()
        return self._counted(run, self.counts.outside)

    def _counted(self, run: Callable[[], Any], call: Call) -> Any:
        before, self._into = self._into, call
        try:
            if before is not None:  # looked at already, from around
                return run()
            with self._ops():
                return run()
        finally:
            self._into = before

    def _ops(self) -> Any:
        """A mode that counts each op that decides, with the device of its first tensor."""
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode

        watcher = self

        class Ops(TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                name, call = op.name().split(".")[0], watcher._into
                if call is None or (name not in FUSED and name not in PRODUCTS):
                    return op(*args, **(kwargs or {}))
                try:
                    value = op(*args, **(kwargs or {}))
                except Exception:
                    call.raised += 1
                    raise
                tensor = next(given for given in args if isinstance(given, torch.Tensor))
                call.ops[name, tensor.device.type] += 1
                return value

        return Ops()
