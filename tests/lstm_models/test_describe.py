"""What a worker says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lstm_models.describe import packages, variables


def test_only_variables_that_steer_the_work_are_recorded() -> None:
    environ = {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "XLA_FLAGS": "--x",
        "OMP_NUM_THREADS": "2",
        "LSTM_PERF_SLOWDOWN": "3",
        "LSTM_PERF_CACHE": "/home/somebody/environments",
        "KERAS_BACKEND": "tensorflow",
        "HOME": "/home/somebody",
        "TF_CLI_CONFIG_FILE": "/etc/terraform.rc",
        "TF_TOKEN_example_com": "secret",
        "TF_VAR_password": "secret",
    }
    assert sorted(variables(environ)) == [
        "KERAS_BACKEND",
        "LSTM_PERF_SLOWDOWN",
        "OMP_NUM_THREADS",
        "TF_ENABLE_ONEDNN_OPTS",
        "XLA_FLAGS",
    ]


def distribution(folder: Path, name: str, origin: Any = None) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    if origin is not None:
        (info / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin))


def test_a_package_that_came_from_no_index_says_so(tmp_path: Path) -> None:
    git = {"vcs": "git", "commit_id": "abc123"}
    distribution(tmp_path, "from-index")
    distribution(tmp_path, "editable", {"url": "file:///home/me/it", "dir_info": {"editable": True}})
    distribution(tmp_path, "wheel", {"url": "https://me:secret@x/wheel.whl", "archive_info": {}})
    distribution(tmp_path, "git", {"url": "https://x/git", "vcs_info": git})
    distribution(tmp_path, "damaged", "{")
    distribution(tmp_path, "strange", [1])
    distribution(tmp_path, "half", {"url": "https://x/half", "vcs_info": {"vcs": "git"}})
    distribution(tmp_path, "lstm-perf", {"url": "file:///home/me/lstm-perf", "dir_info": {"editable": True}})
    assert packages([str(tmp_path)]) == {
        "damaged": "1.0",
        "editable": "1.0 (from a local path)",
        "from-index": "1.0",
        "half": "1.0",
        "git": "1.0 @ git+https://x/git@abc123",
        "lstm-perf": "1.0",
        "strange": "1.0",
        "wheel": "1.0 @ https://x/wheel.whl",
    }


def test_the_package_that_is_imported_is_the_one_that_counts(tmp_path: Path) -> None:
    for folder, origin in ((tmp_path / "a", {"url": "file:///x"}), (tmp_path / "b", None)):
        folder.mkdir()
        distribution(folder, "twice", origin)
    assert packages([str(tmp_path / "a"), str(tmp_path / "b")]) == {"twice": "1.0 (from a local path)"}
