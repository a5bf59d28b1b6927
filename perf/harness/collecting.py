"""Which tests there are, for which cases, and what each is given: the second half of the plugin."""

from __future__ import annotations

from typing import Any

import pytest

from perf.harness.expectation_session import Expected
from perf.harness.gpu_check.session import Assumed, GpuCheck
from perf.harness.records import CaseSpec
from perf.harness.replay import MeasuredCase
from perf.harness.selection_verdict import Selected
from perf.harness.session import Session
from perf.harness.stored_session import StoredSession

SESSION = pytest.StashKey[Session]()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    """Leaves out the test of a path without cases, which pytest would show as a skipped placeholder; so too that of
    the kernels where the suite has no settings."""
    perf = collector.config.stash.get(SESSION, None)
    arguments = getattr(getattr(obj, "__code__", None), "co_varnames", ())
    if perf is not None and (assumes := "assumed" in arguments) != isinstance(perf, GpuCheck):
        stated = assumes or any(name in arguments for name in ("measured", "selected", "expected"))
        return [] if stated else None  # assumptions are stated by themselves
    if perf is not None and "selected" in arguments and not perf.prepared.suite.selection:
        return []
    if perf is not None and "expected" in arguments and (perf.prepared.sides or not perf.prepared.suite.expectations):
        return []  # what beats what is a question to one environment
    if perf is None or "measured" not in arguments:
        return None
    return None if any(spec.path == name.removeprefix("test_") for spec in perf.by_key.values()) else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``test_<path>(measured, ...)`` gets the cases of its path."""
    perf = metafunc.config.stash.get(SESSION, None)
    if isinstance(perf, GpuCheck) and "assumed" in metafunc.fixturenames:
        metafunc.parametrize("assumed", list(perf.assumptions), indirect=True)
    if perf is not None and "selected" in metafunc.fixturenames:
        metafunc.parametrize("selected", list(perf.prepared.suite.selection), indirect=True)
    if perf is not None and "expected" in metafunc.fixturenames:
        metafunc.parametrize(
            "expected",
            [
                pytest.param(each.id, id=each.id, marks=[pytest.mark.skip(reason=each.skip)] if each.skip else [])
                for each in perf.prepared.suite.expectations
            ],
            indirect=True,
        )
    if perf is None or "measured" not in metafunc.fixturenames:
        return
    path = metafunc.function.__name__.removeprefix("test_")
    params = [
        pytest.param(spec.id, id=spec.id, marks=[pytest.mark.skip(reason=spec.skip)] if spec.skip else [])
        for spec in perf.prepared.suite.specs
        if spec.path == path
    ]
    metafunc.parametrize("measured", params, indirect=True)


def spec_of(item: pytest.Item, perf: Session) -> CaseSpec | None:
    """The case of a test item; ``None`` for any other item."""
    if not isinstance(item, pytest.Function) or "measured" not in item.fixturenames or not hasattr(item, "callspec"):
        return None
    path = item.function.__name__.removeprefix("test_")
    return perf.by_key.get(f"{path}[{item.callspec.id}]")


def group_of(item: pytest.Item) -> str | None:
    """The setting whose kernels a test states; ``None`` for any other test."""
    if not isinstance(item, pytest.Function) or "selected" not in item.fixturenames or not hasattr(item, "callspec"):
        return None
    return str(item.callspec.params["selected"])


def expectation_of(item: pytest.Item) -> str | None:
    """Id of the expectation that a test states; ``None`` for any other test."""
    if not isinstance(item, pytest.Function) or "expected" not in item.fixturenames or not hasattr(item, "callspec"):
        return None
    return str(item.callspec.params["expected"])


def assumption_of(item: pytest.Item) -> str | None:
    """Id of the assumption that a test states; ``None`` for any other test."""
    if not isinstance(item, pytest.Function) or "assumed" not in item.fixturenames or not hasattr(item, "callspec"):
        return None
    return str(item.callspec.params["assumed"])


@pytest.fixture
def assumed(request: pytest.FixtureRequest) -> Assumed:
    """What was found of this test's assumption."""
    perf = request.config.stash.get(SESSION, None)
    if not isinstance(perf, GpuCheck):
        pytest.fail("Assumptions are checked by 'pytest perf --perf-profile gpu-check'.", pytrace=False)
    if request.param not in perf.findings:
        pytest.skip("not looked at")

    def fail(message: str) -> Any:
        pytest.fail(message, pytrace=False)

    def skip(reason: str) -> Any:
        pytest.skip(reason)

    return Assumed(perf.findings[request.param], fail, skip)


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> MeasuredCase:
    """What was measured and judged of this test's case."""
    perf = request.config.stash.get(SESSION, None)
    if perf is None:
        pytest.fail("Cases are measured by 'pytest perf' in the checkout, and not otherwise.", pytrace=False)
    spec = spec_of(request.node, perf)
    statement = perf.statement(spec.key) if spec else None
    if statement is None:
        pytest.skip("not measured")
    if statement.skip is not None:
        pytest.skip(statement.skip)

    def fail(message: str) -> Any:
        pytest.fail(message, pytrace=False)

    return MeasuredCase(statement, fail)


@pytest.fixture
def selected(request: pytest.FixtureRequest) -> Selected:
    """Which kernels Keras would pick on a GPU host with one setting, and what became of them."""
    perf = request.config.stash.get(SESSION, None)
    if perf is None:
        pytest.fail("Kernels are looked at by 'pytest perf' in the checkout, and not otherwise.", pytrace=False)

    def fail(message: str) -> Any:
        pytest.fail(message, pytrace=False)

    found = perf.selected_group(request.param, fail)
    if found is None:
        pytest.skip("not looked at")
    return found


@pytest.fixture
def expected(request: pytest.FixtureRequest) -> Expected:
    """What was found of this test's expectation."""
    perf = request.config.stash.get(SESSION, None)
    if not isinstance(perf, StoredSession):
        pytest.fail("Expectations are checked by 'pytest perf' in the checkout, and not otherwise.", pytrace=False)
    result = perf.expected.get(request.param)
    if result is None or not result.state.is_stated:
        pytest.skip("not measured")

    def fail(message: str) -> Any:
        pytest.fail(message, pytrace=False)

    return Expected(result, fail)
