"""Jitted functions that can be watched: how often they were traced or compiled, and what they execute."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Optional


@dataclass(frozen=True)
class Executed:
    """A program that ran: its jaxpr, the text that XLA compiled it to, and the platforms where its results lie."""

    jaxpr: Any
    compiled: str
    platforms: frozenset[str]


class Watched:
    """A jitted function, called as it is. While :func:`executed` watches, it also notes what it executes."""

    _noted: Optional[dict[Any, Executed]] = None

    def __init__(self, jitted: Any) -> None:
        self._jitted = jitted

    def __call__(self, *args: Any) -> Any:
        if Watched._noted is None:
            return self._jitted(*args)
        return self._watched_call(Watched._noted, args)

    def traces(self) -> int:
        """Entries of JAX's cache of ways to call this function. Each was traced, or compiled, or both: a count in the
        Python function would miss what is compiled anew without a trace, as for arrays that lie elsewhere. An entry
        that only differs in how an argument came (as a NumPy array) counts too; rounds that repeat one call never
        make one."""
        return int(self._jitted._cache_size())

    def _watched_call(self, noted: dict[Any, Executed], args: tuple[Any, ...]) -> Any:
        """The arguments are read before the call, which may take their memory (donated ones)."""
        import jax

        leaves, structure = jax.tree_util.tree_flatten(args)
        way = (id(self), structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves))
        if way in noted:
            return self._jitted(*args)
        # Neither traces or compiles what this call did not: JAX has both in its caches, by function and arguments.
        jaxpr, lowered = jax.make_jaxpr(self._jitted)(*args), self._jitted.lower(*args)
        value = self._jitted(*args)
        results = [leaf for leaf in jax.tree_util.tree_leaves(value) if isinstance(leaf, jax.Array)]
        platforms = {str(device.platform) for result in results for device in result.devices()}
        noted[way] = Executed(jaxpr, lowered.compile().as_text(), frozenset(platforms))
        return value


@contextmanager
def executed() -> Iterator[dict[Any, Executed]]:
    """All distinct programs of watched functions that run inside; filled when it ends."""
    found: dict[Any, Executed] = {}
    Watched._noted = found
    try:
        yield found
    finally:
        Watched._noted = None
