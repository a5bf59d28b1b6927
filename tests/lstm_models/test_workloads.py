"""Workload files: what is read, and what is refused in which words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from lstm_models import workload_file, workloads
from lstm_models.workloads import Workload, WorkloadError
from tests.lstm_models import tiny

GOOD = {"units": "3", "timesteps": "4", "features": "5"}


def write(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


def table(name: str = "mine", **keys: str) -> str:
    return f"[workload.{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


def test_the_asked_for_workloads_are_built_in() -> None:
    asked = (
        "translation translation-2layer chatbot sentiment forecasting rows ptb-small ptb-medium speech layer-128 "
        "layer-128-recurrent-dropout layer-128-relu layer-128-no-bias layer-128-mask-right layer-128-mask-left "
        "layer-128-stateful layer-128-dropout"
    )
    assert set(asked.split()) <= set(workloads.builtin())


def test_every_builtin_names_its_source_and_its_table() -> None:
    for name, workload in workloads.builtin().items():
        assert workload.name == name
        assert workload.source not in ("", "workloads.toml")


def test_translation_is_the_small_one_of_the_tutorials() -> None:
    found = workloads.builtin()["translation"]
    assert (found.vocabulary, found.embedding, found.layers, found.units, found.timesteps) == (10000, 50, 1, 50, 20)
    assert workloads.builtin()["translation-2layer"].layers == 2
    assert found.batch_sizes == (1, 32)


def test_a_workload_survives_the_channel() -> None:
    for workload in workloads.builtin().values():
        plain = json.loads(json.dumps(workload.to_plain()))
        assert Workload.from_plain(plain).to_plain() == workload.to_plain()


def test_every_field_has_a_rule_and_every_rule_a_field() -> None:
    assert set(workload_file.RULES) == {field.name for field in fields(Workload)} - {
        "name",
        "digest",
    }  # derived, not written


def test_a_users_file_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, table(**GOOD, dropout="0", batch_sizes="[2, 8]", source='"ours"'))
    found = workloads.load(file)["mine"]
    assert (found.units, found.dropout, found.batch_sizes, found.source) == (3, 0.0, (2, 8), "ours")
    assert isinstance(found.dropout, float)


def test_the_source_of_a_users_workload_may_be_left_out(tmp_path: Path) -> None:
    assert workloads.load(write(tmp_path, table(**GOOD)))["mine"].source == "mine.toml"


def test_an_encoder_decoder_ends_in_a_softmax_over_its_vocabulary(tmp_path: Path) -> None:
    keys = {"kind": '"encoder-decoder"', "units": "3", "timesteps": "4", "vocabulary": "11", "embedding": "5"}
    found = workloads.load(write(tmp_path, table(**keys, decode_tokens="2")))["mine"]
    assert (found.head, found.outputs, found.return_sequences) == ("softmax", 11, True)


def test_builder_and_saved_need_no_kind_and_saved_is_relative_to_the_file(tmp_path: Path) -> None:
    text = table("built", builder='"package.module:build"') + table("stored", saved='"models/mine.keras"')
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.keras").write_bytes(b"weights")
    found = workloads.load(write(tmp_path, text))
    assert (found["built"].kind, found["built"].builder) == ("builder", "package.module:build")
    assert (found["stored"].kind, found["stored"].saved) == ("saved", str(tmp_path / "models" / "mine.keras"))


def test_a_saved_models_content_belongs_to_the_case_and_its_place_does_not(tmp_path: Path) -> None:
    def hash_of(folder: str, content: bytes) -> str:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.keras").write_bytes(content)
        (workload,) = workloads.load(write(tmp_path / folder, table("mine", saved='"mine.keras"'))).values()
        return tiny.case(workload).hash

    assert hash_of("here", b"weights") == hash_of("there", b"weights")
    assert hash_of("after training", b"other weights") != hash_of("again", b"weights")


def test_a_saved_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"\[workload.mine\]: the saved model .*gone.keras cannot be read"):
        workloads.load(write(tmp_path, table("mine", saved='"gone.keras"')))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[workload.mine", ["not valid TOML"], id="not TOML"),
        pytest.param("", ["[workload.NAME]", "found none"], id="empty"),
        pytest.param("workload = 3", ["[workload.NAME]"], id="no table"),
        pytest.param(table(**GOOD) + "[other]\n", ["nothing else", "other"], id="other table"),
        pytest.param(table("My-Model", **GOOD), ["My-Model", "lower case"], id="name"),
        pytest.param(table('"a b"', **GOOD), ["a b", "lower case"], id="name with space"),
        pytest.param("[workload]\nmine = 3", ["mine", "table of keys"], id="no keys"),
        pytest.param(table(**GOOD, unit="3"), ["no key 'unit'", "units", "recurrent_dropout"], id="key"),
        pytest.param(table(**{**GOOD, "units": '"3"'}), ["units = '3'", "whole number, 1 or more"], id="type"),
        pytest.param(table(**{**GOOD, "units": "true"}), ["units = True", "whole number"], id="true is no number"),
        pytest.param(table(**{**GOOD, "units": "-3"}), ["units = -3", "1 or more"], id="negative"),
        pytest.param(table(**{**GOOD, "units": "3.0"}), ["units = 3.0", "whole number"], id="fraction"),
        pytest.param(table(**GOOD, dropout="1.0"), ["dropout = 1.0", "from 0 to below 1"], id="dropout of all"),
        pytest.param(table(**GOOD, dropout="nan"), ["dropout = nan", "from 0 to below 1"], id="not a number"),
        pytest.param(table(**GOOD, use_bias="1"), ["use_bias = 1", "true or false"], id="number for a switch"),
        pytest.param(table(**GOOD, mask='"middle"'), ['"none", "right", "left"'], id="choice"),
        pytest.param(table(**GOOD, source='""'), ["source", "not empty"], id="empty text"),
        pytest.param(table(**GOOD, batch_sizes="[]"), ["batch_sizes = []", "positive"], id="no batch"),
        pytest.param(table(**GOOD, batch_sizes="[0]"), ["batch_sizes = [0]", "positive"], id="batch 0"),
        pytest.param(table(**GOOD, batch_sizes="[2, 2]"), ["different"], id="batch twice"),
        pytest.param(table(**GOOD, batch_sizes="8"), ["list"], id="batch no list"),
        pytest.param(table(timesteps="4", features="5"), ["units is missing"], id="missing units"),
        pytest.param(table(units="4", timesteps="5"), ["either vocabulary"], id="neither input"),
        pytest.param(table(**GOOD, vocabulary="9", embedding="3"), ["not both"], id="both inputs"),
        pytest.param(table(units="3", timesteps="4", vocabulary="9"), ["embedding go together"], id="no embedding"),
        pytest.param(table(**GOOD, head='"softmax"'), ["outputs is the width"], id="head without outputs"),
        pytest.param(table(**GOOD, outputs="3"), ["outputs is the width"], id="outputs without head"),
        pytest.param(table(**GOOD, decode_tokens="3"), ["decode_tokens has no meaning", "encoder-decoder"], id="kind"),
        pytest.param(table(**GOOD, builder='"a:b"'), ['no meaning for kind "builder"'], id="builder with units"),
        pytest.param(table(builder='"a.b"'), ["package.module:function"], id="builder form"),
        pytest.param(table(**GOOD, stateful="true", bidirectional="true"), ["do not go together"], id="stateful"),
        pytest.param(
            table(kind='"encoder-decoder"', units="3", timesteps="4", vocabulary="9", embedding="3"),
            ["decode_tokens is missing"],
            id="encoder-decoder",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_file_table_key_and_what_is_allowed(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    file = write(tmp_path, text)
    with pytest.raises(WorkloadError) as caught:
        workloads.load(file)
    message = str(caught.value)
    assert message.startswith(str(file))
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=re.escape(f"{tmp_path / 'none.toml'}: the workload file cannot be read")):
        workloads.load(tmp_path / "none.toml")


def test_a_builtin_name_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"translation.*built-in workload of this name"):
        workloads.load(write(tmp_path, table("translation", **GOOD)))


def test_workloads_and_kernels_import_neither_tensorflow_nor_tomllib() -> None:
    """The pytest process must not pay for TensorFlow, and workers of Python 3.9 have no tomllib."""
    code = (
        "import sys; import lstm_models.case, lstm_models.kernels, lstm_models.worker; "
        "print([name for name in ('tensorflow', 'keras', 'tomllib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
