"""What the rest of the command line means for measuring: pytest's own options and those of other plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf.harness.errors import Refusal


def asks_for(config: pytest.Config, folder: Path) -> bool:
    """Whether some argument is ``folder``, in it, or holds it."""
    paths = [path_of(arg, config) for arg in config.args]
    return any(covers(path, folder) or folder in path.parents for path in paths)


def collects_only(config: pytest.Config) -> bool:
    """Whether no test body will run: nothing is measured then either."""
    option = config.option
    shows_only = option.showfixtures or option.show_fixtures_per_test or _of_the_cache(config, "cacheshow") is not None
    return bool(option.collectonly or option.setuponly or option.setupplan or shows_only)


def _of_the_cache(config: pytest.Config, name: str) -> object:
    """An option of pytest's cache, which can be switched off and then has none."""
    return getattr(config.option, name, None)


def will_run(config: pytest.Config) -> bool:
    """Whether the tests run and their benchmarks are on."""
    disabled = config.option.benchmark_disable and not config.option.benchmark_enable
    return not collects_only(config) and not disabled and not config.option.benchmark_skip


def refuse_unfit(config: pytest.Config) -> None:
    """Raises :class:`Refusal` without pytest-benchmark, under pytest-xdist, and for a comparison of nothing."""
    if not config.pluginmanager.hasplugin("benchmark"):
        raise Refusal(
            "perf/ needs the plugin pytest-benchmark, which is not loaded: drop '-p no:benchmark' and "
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD, or add '-p pytest_benchmark.plugin'."
        )
    if config.getoption("dist", "no") != "no" or config.getoption("numprocesses", None):
        raise Refusal(
            "perf/ will not measure or gate under pytest-xdist (-n): cases that run side by side slow each other "
            "down. Run it without -n; nothing was measured."
        )
    if config.option.benchmark_compare and not (will_run(config) or collects_only(config)):
        raise Refusal(
            "--benchmark-compare with --benchmark-disable or --benchmark-skip: there would be nothing to compare, "
            "and nothing measured is never green. Drop one of the two."
        )


def narrows(config: pytest.Config, folder: Path) -> bool:
    """Whether the command line leaves tests of ``folder`` out by itself; deselection is reported by pytest."""
    option = config.option
    whole = any("::" not in arg and covers(path_of(arg, config), folder) for arg in config.args)
    left_out = option.ignore or option.ignore_glob or option.deselect or _of_the_cache(config, "lf")
    return not whole or bool(left_out)


def path_of(arg: str, config: pytest.Config) -> Path:
    """The file or folder of a command-line argument, links resolved."""
    return Path(config.invocation_params.dir, arg.split("::", 1)[0]).resolve()


def covers(path: Path, folder: Path) -> bool:
    """Whether ``path`` is ``folder`` or holds it."""
    return path == folder or path in folder.parents


def take_over_benchmark_options(config: pytest.Config, root: Path) -> Path:
    """Switches off pytest-benchmark's own comparison and tables; returns the folder of stored runs.

    Its comparison passes silently on a missing, renamed or truncated baseline. A relative storage is taken from the
    root of the checkout, so that ``pytest perf`` and ``pytest`` inside perf/ keep one history.
    """
    option = config.option
    option.benchmark_compare = None
    option.benchmark_quiet = True
    storage = option.benchmark_storage
    scheme, _, folder = storage.rpartition("://")
    if scheme not in ("", "file"):
        raise Refusal(f"--benchmark-storage {storage}: runs are kept in files; give a folder.")
    path: Path = (root / folder).resolve()
    option.benchmark_storage = f"file://{path}"
    return path
