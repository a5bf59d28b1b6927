"""The workflows are safe for the machine that they run on, and measure what they say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.commands import fault, parsers
from tests.workflows import FOLDER, ROOT, environment, faults, gates, run

NIGHTLY = (FOLDER / "nightly.yml").read_text()
GATES = {f"{gate.workflow}-{gate.job}": gate for gate in gates()}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.stem)
def test_a_workflow_is_safe_and_ends(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("workflow_dispatch:", "workflow_dispatch:\n  pull_request:", "machine of one's own on ['pull_request']"),
        ("contents: read", "contents: write", "permissions are not"),
        ("permissions:\n  contents: read\n", "", "permissions are not"),
        ("    needs: pinned\n", "    permissions: write-all\n", "permissions of its own"),
        ("  group: lstm-perf-gpu\n", "", "no concurrency group"),
        ("    timeout-minutes: 420\n", "", "no time limit"),
        ("          persist-credentials: false\n", "          fetch-depth: 0\n", "leaves its token"),
        ("@11bd71901bbe5b1630ceea73d27597364c9af683", "@v4", "is not pinned by commit"),
        (" # v4.2.2", "", "no release named"),
        (".ci/gate gpu", ".ci/gate gpu ${{ github.ref_name }}", "an expression stands in a command"),
    ],
)
def test_the_guard_sees_what_it_should(old: str, new: str, said: str) -> None:
    assert old in NIGHTLY
    assert any(said in found for found in faults(NIGHTLY.replace(old, new, 1)))


def test_an_action_is_the_same_everywhere() -> None:
    used = re.findall(r"uses: (\S+)@(\S+)", "".join(path.read_text() for path in FOLDER.glob("*.yml")))
    assert len({name for name, _ in used}) == len(set(used))


@pytest.mark.parametrize("name", GATES)
def test_a_gate_is_a_command_that_the_suite_takes(name: str, tmp_path: Path) -> None:
    gate = GATES[name]
    ran = run(gate.run, tmp_path, environment(gate))
    assert ran.status == 0, ran.said
    assert ran.output == "status=0\n"
    assert fault(["tox", *ran.arguments], parsers()) == ""
    # In the checkout the next job would delete them.
    assert f"--benchmark-storage={tmp_path}/lstm-perf/runs" in ran.arguments


def test_each_gate_compares_what_it_is_there_for(tmp_path: Path) -> None:
    asked = {}
    for name, gate in GATES.items():
        (tmp_path / name).mkdir()
        asked[name] = run(gate.run, tmp_path / name, environment(gate)).arguments
    assert sorted(asked) == ["nightly-newest", "nightly-pinned", "upgrade-upgrade"]
    assert asked["nightly-pinned"][:2] == ("-e", "gpu")
    assert "--benchmark-compare" in asked["nightly-pinned"]
    for name in ("nightly-newest", "upgrade-upgrade"):
        assert asked[name][:2] == ("-e", "upgrade")
        assert "--perf-against=-r .github/pinned.txt" in asked[name]
        assert not any(word.startswith(("--perf-candidate", "-k")) for word in asked[name])


def test_the_run_goes_with_the_report_under_its_own_name(tmp_path: Path) -> None:
    steps = yaml.safe_load(NIGHTLY)["jobs"]["pinned"]["steps"]
    (copies,) = [step["run"] for step in steps if step.get("name") == "Copy the run"]
    runs, checkout = tmp_path / "lstm-perf" / "runs" / "a-machine", tmp_path / "checkout"
    runs.mkdir(parents=True)
    checkout.mkdir()
    for name in ("0041_nightly-1001.json", "0042_nightly-10011.json", "0040_first.json"):
        (runs / name).touch()
    assert run(copies, tmp_path, checkout=checkout).status == 0
    assert [path.name for path in (checkout / "report").iterdir()] == ["0041_nightly-1001.json"]


def test_what_somebody_types_is_never_a_command(tmp_path: Path) -> None:
    typed = {
        "against": 'tensorflow==2.20.0 "; touch "$HOME/pwned"; $(touch $HOME/pwned)',
        "candidate": "keras==3.15.1 `touch $HOME/pwned`",
        "select": "fit and not b1; touch $HOME/pwned",
        "profile": "nightly",
    }
    gate = GATES["upgrade-upgrade"]
    arguments = run(gate.run, tmp_path, environment(gate, typed)).arguments
    assert f"--perf-against={typed['against']}" in arguments
    assert f"--perf-candidate={typed['candidate']}" in arguments
    assert arguments[arguments.index("-k") + 1] == typed["select"]
    assert arguments[arguments.index("--perf-profile") + 1] == "nightly"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("status", "annotation"),
    [
        (0, ""),
        (1, "::error title=Red::"),
        (4, "::error title=Refused::"),
        (10, "::warning title=Not green::"),
        (3, "::error title=Broken off::"),
    ],
)
def test_the_gate_routes_each_exit_status(status: int, annotation: str, tmp_path: Path) -> None:
    ran = run(".ci/gate gpu --benchmark-compare", tmp_path, gate=status)
    assert ran.status == status
    assert ran.output == f"status={status}\n"
    assert annotation in ran.said
    assert ran.said.count("::") == (2 if annotation else 0)


def test_an_environment_that_cannot_be_made_is_not_red(tmp_path: Path) -> None:
    ran = run(".ci/gate gpu", tmp_path, setup=1)
    assert ran.status == 3
    assert "::error title=Not set up::" in ran.said
    assert not ran.arguments
    assert not ran.output


def test_all_that_the_gpu_environment_installs_is_pinned() -> None:
    """Runs are one history only where every package is the same."""
    lines = [line for line in (ROOT / ".github/pinned.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert all(pinned.values()), pinned
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = [line for line in (ROOT / ".github/pinned.in").read_text().splitlines() if not line.startswith("#")]
    for requirement in map(Requirement, [*project, *wanted]):
        name = canonicalize_name(requirement.name)
        assert name in pinned
        assert requirement.specifier.contains(pinned[name], prereleases=True)
    assert "nvidia-cudnn-cu12" in pinned
