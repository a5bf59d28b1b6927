"""Workflows of GitHub Actions: what must hold for each of them, and their steps run here with a tox that is not one."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".github" / "workflows"
#: A self-hosted machine runs what these start, and neither of them carries code of a fork.
TRUSTED_TRIGGERS = {"schedule", "workflow_dispatch"}
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
_NAMED = re.compile(r"uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
_EXPRESSION = re.compile(r"\$\{\{ *inputs\.(\w+) *\}\}")
_TOX = """#!/bin/sh
case "$*" in *--notest) exit "$SETUP_STATUS";; esac
printf '%s\\n' "$@" >"$SEEN"
exit "$GATE_STATUS"
"""


def faults(text: str) -> list[str]:
    """What makes a workflow unsafe or endless, one sentence each; empty for a good one."""
    workflow = yaml.safe_load(text)
    found = []
    if workflow.get("permissions") != {"contents": "read"}:
        found.append("permissions are not contents: read and nothing else")
    if "group" not in (workflow.get("concurrency") or {}):
        found.append("no concurrency group")
    for name, job in workflow["jobs"].items():
        found += [f"job {name}: {fault}" for fault in _faults_of_job(job, _triggers(workflow))]
    lines = [line for line in text.splitlines() if "uses:" in line]
    found += [f"no release named behind {line.strip()!r}" for line in lines if not _NAMED.search(line)]
    return found


def _triggers(workflow: Mapping[Any, Any]) -> set[str]:
    on = workflow[True]  # YAML 1.1 reads the key "on" so
    return {on} if isinstance(on, str) else set(on)


def _faults_of_job(job: Mapping[str, Any], triggers: set[str]) -> Iterator[str]:
    if "permissions" in job:
        yield "has permissions of its own"
    if "timeout-minutes" not in job:
        yield "has no time limit"
    if "self-hosted" in job["runs-on"] and not triggers <= TRUSTED_TRIGGERS:
        yield f"runs on a machine of one's own on {sorted(triggers - TRUSTED_TRIGGERS)}"
    for step in job["steps"]:
        uses = step.get("uses", "")
        if uses and not _PINNED.fullmatch(uses):
            yield f"{uses} is not pinned by commit"
        if uses.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            yield "checkout leaves its token in the folder"
        if "${{" in step.get("run", ""):
            yield "an expression stands in a command"


@dataclass(frozen=True)
class Gate:
    """A step that runs ``.ci/gate``."""

    workflow: str
    job: str
    run: str
    env: Mapping[str, str]
    inputs: Mapping[str, str]  # defaults of what is asked when it is started by hand


@dataclass(frozen=True)
class Ran:
    """``arguments``: those of the tox that measures; empty where it came to none. ``output``: of the step."""

    status: int
    said: str
    output: str
    arguments: tuple[str, ...]


def gates() -> list[Gate]:
    """All such steps of this project."""
    found = []
    for path in sorted(FOLDER.glob("*.yml")):
        workflow = yaml.safe_load(path.read_text())
        on = workflow[True]
        asked = (on.get("workflow_dispatch") or {}).get("inputs", {}) if isinstance(on, dict) else {}
        inputs = {name: str(given.get("default", "")) for name, given in asked.items()}
        for job, steps in ((name, job["steps"]) for name, job in workflow["jobs"].items()):
            found += [
                Gate(path.stem, job, step["run"], step.get("env", {}), inputs)
                for step in steps
                if ".ci/gate" in step.get("run", "")
            ]
    return found


def run(
    script: str,
    folder: Path,
    env: Mapping[str, str] | None = None,
    *,
    gate: int = 0,
    setup: int = 0,
    checkout: Path = ROOT,
) -> Ran:
    """Runs a step's script as GitHub would, with a tox that notes its arguments and ends with ``gate``, or with
    ``setup`` where it is only to make the environment. ``folder`` is the home."""
    tox = folder / "bin" / "tox"
    tox.parent.mkdir()
    tox.write_text(_TOX)
    tox.chmod(0o755)
    output, seen = folder / "output", folder / "seen"
    variables = {
        **{"PATH": f"{tox.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "SEEN": str(seen)},
        **{"GITHUB_OUTPUT": str(output), "GATE_STATUS": str(gate), "SETUP_STATUS": str(setup)},
        **{"GITHUB_RUN_ID": "1001", **(env or {})},
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env=variables,
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=60,
    )
    arguments = tuple(seen.read_text().splitlines()) if seen.exists() else ()
    return Ran(done.returncode, done.stdout + done.stderr, output.read_text() if output.exists() else "", arguments)


def environment(gate: Gate, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The step's variables, with what somebody typed, or the defaults, in the place of inputs."""
    inputs = {**gate.inputs, **(given or {})}
    return {name: _EXPRESSION.sub(lambda match: inputs[match[1]], text) for name, text in gate.env.items()}
