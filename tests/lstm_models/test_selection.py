"""Which kernel Keras would pick on a GPU host: the whole table, traced once on the Keras that is installed."""

from __future__ import annotations

import importlib
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf

from lstm_models import keras_layers, selection, selection_places, selection_workloads
from lstm_models.backends import trace
from lstm_models.engine import Engine
from lstm_models.selection_places import PLACES, SETTINGS, Placed, Setting
from lstm_models.workloads import Workload, builtin
from tests.lstm_models import tiny

Table = dict[tuple[str, str], dict[str, str]]

BY_ID = {setting.id: setting for setting in SETTINGS}
BARE, *_ = PLACES


@pytest.fixture(scope="module")
def table() -> Table:
    settings: dict[str, dict[str, Any]] = {setting: {} for setting in selection_places.GROUPS}
    return {(row["row"], row["mode"]): row for row in selection.selection(settings)}


def kernels(table: Table, row: str) -> set[str]:
    return {table[row, mode]["kernel"] for mode in selection.MODES}


@pytest.mark.parametrize(
    ("setting", "kernel", "jit"),
    [
        ("default", "cudnn", "False"),
        ("dropout", "cudnn", "False"),
        ("recurrent-dropout", "loop", "False"),
        ("relu", "loop", "True"),
        ("no-bias", "loop", "True"),
        ("unroll", "unrolled", "True"),
        ("no-cudnn", "loop", "True"),
        ("go-backwards", "cudnn", "False"),
        ("sequences", "cudnn", "False"),
        ("stateful", "cudnn", "False"),
        ("return-state", "cudnn", "False"),
    ],
)
def test_every_setting_has_its_kernel_wherever_it_stands(table: Table, setting: str, kernel: str, jit: str) -> None:
    """LSTM.md, section 9. What forgets ``use_cudnn`` has a test of its own."""
    for found, place in selection_places.rows():
        if found.id == setting and not (setting == "no-cudnn" and place.id in ("cloned", "saved", "bidirectional")):
            expected = f"{place.cells}x {kernel}" if place.cells > 1 else kernel
            assert kernels(table, f"{setting}/{place.id}") == {expected}, place.id
            assert table[f"{setting}/{place.id}", "training"]["jit"] == jit, place.id


@pytest.mark.parametrize("row", ["initial-state/layer", "mask-right/layer"])
def test_states_and_a_right_mask_leave_cudnn(table: Table, row: str) -> None:
    assert kernels(table, row) == {"cudnn"}
    assert table[row, "training"]["note"] == ""


def test_a_left_mask_goes_to_cudnn_and_is_refused_there(table: Table) -> None:
    assert kernels(table, "mask-left/layer") == {"fails"}
    said = "cuDNN is picked and refuses at run time: You are passing a RNN mask"
    assert table["mask-left/layer", "training"]["note"].startswith(said)


@pytest.mark.parametrize("place", ["cloned", "saved"])
def test_cloning_and_loading_forget_use_cudnn(table: Table, place: str) -> None:
    assert kernels(table, f"no-cudnn/{place}") == {"cudnn"}
    assert table[f"no-cudnn/{place}", "training"]["note"] == "use_cudnn=False was asked for, the layer has 'auto'"


def test_bidirectional_keeps_use_cudnn_and_yet_no_jit(table: Table) -> None:
    row = table["no-cudnn/bidirectional", "training"]
    assert (row["kernel"], row["jit"], row["note"]) == ("2x loop", "False", "")


def test_ids_are_plain_words_and_every_row_is_text_in_both_modes(table: Table) -> None:
    ids = [f"{setting.id}/{place.id}" for setting, place in selection_places.rows()]
    assert list(dict.fromkeys(row for row, _ in table)) == ids
    assert set(table) == {(row, mode) for row in ids for mode in ("inference", "training")}
    for row in table.values():
        assert list(row) == ["row", "mode", "kernel", "jit", "note", "setting", "place"]
        assert all(type(value) is str for value in row.values())
    words = "".join(ids).replace("/", "").replace("-", "")
    assert words.isalnum()
    assert words.islower()
    assert tuple(dict.fromkeys(row.split("/")[0] for row in ids)) == selection_places.GROUPS


def test_the_options_of_the_built_in_workloads_are_settings() -> None:
    """A workload with an option that the table lacks would not be watched."""
    default = Workload("", "")
    option = {"activation", "use_bias", "dropout", "recurrent_dropout", "stateful", "return_sequences"}
    for workload in builtin().values():
        for name in option:
            if getattr(workload, name) != getattr(default, name):
                assert any(name in setting.options for setting in SETTINGS), (workload.name, name)
        assert workload.mask == "none" or f"mask-{workload.mask}" in BY_ID
    assert BY_ID["relu"].options["activation"] in {workload.activation for workload in builtin().values()}


def of_workloads(**workloads: Workload) -> dict[str, dict[str, str]]:
    """The training rows of workloads, by name."""
    asked = {name: workload.to_plain() for name, workload in workloads.items()}
    return {row["row"].split("/")[0]: row for row in selection.selection(asked) if row["mode"] == "training"}


def test_a_workloads_model_is_a_row_and_decides_as_its_layers_do() -> None:
    available = builtin()
    names = ("chatbot", "speech", "layer-128-recurrent-dropout", "layer-128-relu", "layer-128-mask-left")
    found = of_workloads(**{name: available[name] for name in names})
    assert {name: (row["kernel"], row["jit"]) for name, row in found.items()} == {
        "chatbot": ("2x cudnn", "False"),
        "speech": ("8x cudnn", "False"),
        "layer-128-recurrent-dropout": ("loop", "False"),
        "layer-128-relu": ("loop", "True"),
        "layer-128-mask-left": ("fails", "False"),
    }
    assert found["layer-128-mask-left"]["note"].startswith("cuDNN is picked and refuses at run time")
    assert (found["chatbot"]["setting"], found["chatbot"]["place"]) == ("workload chatbot", "whole model")


def mixed_model(lstm: Any) -> Any:
    """A user's own model: one LSTM goes to cuDNN, the other does not."""
    inputs = keras.Input((3, 2))
    hidden = lstm(4, return_sequences=True)(inputs)
    return keras.Model(inputs, lstm(4, activation="relu")(hidden))


def test_a_users_function_is_a_row_too_and_one_that_fails_says_why() -> None:
    found = of_workloads(
        ours=Workload("ours", "", kind="builder", builder=f"{__name__}:mixed_model"),
        gone=Workload("gone", "", kind="builder", builder="no.such.module:build"),
    )
    assert found["ours"]["kernel"] == "mixed: cudnn 1, loop 1"
    assert found["gone"]["kernel"] == "fails"
    assert "builder 'no.such.module:build' was not found" in found["gone"]["note"]


def test_sizes_are_small_and_the_options_stay() -> None:
    for workload in builtin().values():
        small = selection_workloads.tiny(workload)
        sizes = ("units", "timesteps", "features", "vocabulary", "embedding", "outputs")
        same = dict.fromkeys(sizes, 0)
        assert replace(small, **same) == replace(workload, **same)
        assert max(getattr(small, size) for size in sizes) <= 5
        assert [bool(getattr(small, size)) for size in sizes] == [bool(getattr(workload, size)) for size in sizes]


def one_row(monkeypatch: pytest.MonkeyPatch, setting: Setting, place: Any = BARE) -> dict[str, dict[str, str]]:
    """The table reduced to one row, by mode."""
    monkeypatch.setattr(selection, "rows", lambda: [(setting, place)])
    return {row["mode"]: row for row in selection.selection({setting.id: {}})}


def test_it_is_found_by_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Keras that runs dropout as a loop, as those before 3.4 did (keras issue 19644), shows as such."""
    lstm = keras.layers.LSTM
    inner_loop = lstm.inner_loop

    def old(self: Any, sequences: Any, initial_state: Any, mask: Any, training: bool = False) -> Any:
        chosen = keras.layers.RNN.inner_loop if self.dropout else inner_loop
        return chosen(self, sequences, initial_state, mask, training=training)

    monkeypatch.setattr(lstm, "inner_loop", old)
    assert {row["kernel"] for row in one_row(monkeypatch, BY_ID["dropout"]).values()} == {"loop"}
    assert {row["kernel"] for row in one_row(monkeypatch, BY_ID["default"]).values()} == {"cudnn"}


def test_a_keras_without_the_option_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras_layers, "has_use_cudnn", lambda: False)
    for row in one_row(monkeypatch, BY_ID["no-cudnn"]).values():
        assert (row["kernel"], row["jit"]) == ("not comparable", "")
        assert row["note"] == f"the LSTM of Keras {keras.__version__} knows no use_cudnn"


def test_a_keras_that_decides_at_run_time_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras_layers, "is_keras_2", lambda: True)
    monkeypatch.setattr(trace(), "traced_kernel", lambda *given, **named: "mixed: cudnn 1, loop 1")
    found = selection._look(BY_ID["mask-right"], BARE, FilePath())
    assert set(found.kernel.values()) == {"not comparable"}
    assert found.note == "Keras 2 has cuDNN and a loop in its graph, and looks at each mask while it runs"


def test_a_layer_that_keras_refuses_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in one_row(monkeypatch, Setting("odd", "odd", {"activation": "no such"})).values():
        assert (row["kernel"], row["jit"]) == ("fails", "")
        assert row["note"].startswith("ValueError: ")


def test_the_temporary_folder_is_not_part_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(setting: Setting, folder: FilePath) -> Placed:
        raise OSError(f"{folder}/model.keras:\n  \x1b[1mno such\x1b[0m file")

    found = one_row(monkeypatch, BY_ID["default"], replace(BARE, build=build))
    assert found["inference"]["note"] == "OSError: /model.keras: no such file"


def test_a_trace_that_fails_takes_the_other_mode_not_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(setting: Setting, folder: FilePath) -> Placed:
        placed = BARE.build(setting, folder)

        def call(inputs: Any, training: bool) -> Any:
            if training:
                raise TypeError("no gradient")
            return placed.call(inputs, training=training)

        return Placed(placed.model, call)

    found = one_row(monkeypatch, BY_ID["default"], replace(BARE, build=build))
    assert {mode: row["kernel"] for mode, row in found.items()} == {"inference": "cudnn", "training": "fails"}
    assert found["training"]["note"] == "training: TypeError: no gradient"


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: FilePath) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recurrence = importlib.import_module("keras.src.backend.tensorflow.rnn")

    def state() -> tuple[Any, ...]:
        policy = keras.mixed_precision.global_policy().name
        return policy, random.getstate(), recurrence._is_gpu_available, tf.config.list_physical_devices

    before = state()
    shown = ("saved", "mixed-float16")
    monkeypatch.setattr(selection, "rows", lambda: [(BY_ID["dropout"], place) for place in PLACES if place.id in shown])
    assert {row["kernel"] for row in selection.selection({"dropout": {}})} == {"cudnn"}
    assert state() == before
    assert os.listdir(tmp_path) == []


def test_a_policy_of_the_process_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    with keras_layers.policy(tiny.Precision.MIXED_BFLOAT16):
        found = one_row(monkeypatch, BY_ID["default"])
        assert keras.mixed_precision.global_policy().name == "mixed_bfloat16"
    assert {row["kernel"] for row in found.values()} == {"cudnn"}


def test_the_engine_answers_with_it_and_closes_the_open_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "rows", lambda: [(BY_ID["default"], BARE)])
    engine = Engine()
    engine.open(tiny.case(tiny.FEATURES).to_plain())
    rows = engine.selection({"default": {}})["rows"]
    assert [(row["row"], row["mode"], row["kernel"]) for row in rows] == [
        ("default/layer", "inference", "cudnn"),
        ("default/layer", "training", "cudnn"),
    ]
    with pytest.raises(Exception, match="No case is open"):
        engine.run(1, 1)
    assert engine.open(tiny.case(tiny.FEATURES).to_plain())["facts"]["kernel"] == "loop"
    engine.close()
