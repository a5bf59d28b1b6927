import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf.harness.environment import Side, environment

ROOT = Path("/checkout")
DESCRIBED = {
    "versions": {"python": "3.11.9"},
    "packages": {"numpy": "2.2"},
    "settings": {"onednn": "on"},
    "variables": {"TF_X": "1"},
    "devices": ["cpu"],
}


def variables_seen(side: Side, device: str = "cpu", gpu: str | None = None, **inherited: str) -> dict[str, str]:
    """The variables that a worker's interpreter really starts with."""
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    caller = {"PATH": os.environ["PATH"], **inherited}
    command = [*side.command(device, ROOT, gpu, inherited=caller), "-c", show]
    done = subprocess.run(command, env=caller, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert isinstance(seen, dict)
    return seen


def test_a_cpu_worker_sees_no_gpu_whatever_is_asked():
    seen = variables_seen(Side(variables={"CUDA_VISIBLE_DEVICES": "3"}), CUDA_VISIBLE_DEVICES="1")
    assert seen["CUDA_VISIBLE_DEVICES"] == ""


def test_a_gpu_worker_sees_the_chosen_gpu():
    seen = variables_seen(Side(), device="gpu", gpu="2", CUDA_VISIBLE_DEVICES="0,1")
    assert (seen["CUDA_VISIBLE_DEVICES"], seen["CUDA_DEVICE_ORDER"]) == ("2", "PCI_BUS_ID")


def test_a_gpu_worker_without_a_choice_sees_what_the_caller_sees():
    seen = variables_seen(Side(), device="gpu", CUDA_VISIBLE_DEVICES="1")
    assert seen["CUDA_VISIBLE_DEVICES"] == "1"
    assert "CUDA_DEVICE_ORDER" not in seen


def test_variables_are_inherited_overridden_and_unset():
    side = Side(variables={"TF_A": "new //x", "TF_B": None})
    seen = variables_seen(side, TF_A="old", TF_B="1", TF_C="kept")
    assert seen["TF_A"] == "new //x"
    assert "TF_B" not in seen
    assert seen["TF_C"] == "kept"


@pytest.mark.parametrize(
    ("side", "inherited", "expected"),
    [
        (Side(), {}, "/checkout"),
        (Side(), {"PYTHONPATH": "/mine"}, "/checkout:/mine"),
        (Side(variables={"PYTHONPATH": "/side"}), {"PYTHONPATH": "/mine"}, "/checkout:/side"),
        (Side(variables={"PYTHONPATH": None}), {"PYTHONPATH": "/mine"}, "/checkout"),
    ],
)
def test_the_checkout_comes_first_on_the_path(side, inherited, expected):
    assert variables_seen(side, **inherited)["PYTHONPATH"] == expected


@pytest.mark.parametrize(
    ("side", "inherited", "level"),
    [
        (Side(), {}, "3"),
        (Side(), {"TF_CPP_MIN_LOG_LEVEL": "0"}, "0"),
        (Side(variables={"TF_CPP_MIN_LOG_LEVEL": "1"}), {"TF_CPP_MIN_LOG_LEVEL": "0"}, "1"),
    ],
)
def test_tensorflow_is_quiet_unless_the_user_says_otherwise(side, inherited, level):
    assert variables_seen(side, **inherited)["TF_CPP_MIN_LOG_LEVEL"] == level


def test_processes_do_not_share_the_hash_seed_that_tox_sets():
    assert "PYTHONHASHSEED" not in variables_seen(Side(), PYTHONHASHSEED="17")
    assert variables_seen(Side(variables={"PYTHONHASHSEED": "5"}), PYTHONHASHSEED="17")["PYTHONHASHSEED"] == "5"


def test_python_home_goes_only_to_the_callers_own_interpreter():
    def unset(interpreter: str) -> bool:
        command = Side(interpreter).command("cpu", ROOT)
        return ["-u", "PYTHONHOME"] in [command[i : i + 2] for i in range(len(command))]

    assert unset("/other/bin/python")
    assert not unset(sys.executable)


def test_an_interpreter_with_an_equals_sign_in_its_path_is_no_variable(tmp_path):
    folder = tmp_path / "tensorflow==2.20"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    assert "PATH" in variables_seen(Side(str(folder / "python")))


@pytest.mark.parametrize("name", ["", "A-B", "1A", "A=B"])
def test_a_name_that_no_variable_can_have_is_refused(name):
    with pytest.raises(ValueError, match="environment variable"):
        Side(variables={name: "1"})


def test_description_becomes_a_record():
    found = environment(DESCRIBED)
    assert found.versions == {"python": "3.11.9"}
    assert found.devices == ("cpu",)


@pytest.mark.parametrize(
    ("field", "value"),
    [("versions", None), ("packages", ["numpy"]), ("settings", {"threads": 2}), ("variables", {1: "a"})],
)
def test_a_wrong_field_is_named(field, value):
    with pytest.raises(ValueError, match=f"'{field}' must map text to text"):
        environment({**DESCRIBED, field: value})


@pytest.mark.parametrize("devices", [None, "cpu", [1]])
def test_wrong_devices_are_named(devices):
    with pytest.raises(ValueError, match="'devices'"):
        environment({**DESCRIBED, "devices": devices})
