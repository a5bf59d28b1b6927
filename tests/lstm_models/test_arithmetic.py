"""Operations and bytes of a step, by hand for small shapes."""

from __future__ import annotations

import pytest

from lstm_models import arithmetic, workloads
from lstm_models.case import Case
from lstm_models.words import Device, Kernel, Path
from lstm_models.workloads import Workload


def case(workload: Workload, path: Path = Path.FORWARD) -> Case:
    return Case(path, workload, 4, Device.CPU, Kernel.LOOP)


LAYER = Workload("layer", "", units=3, timesteps=5, features=2)
CELL = 2 * 4 * 3 * (3 + 2)


@pytest.mark.parametrize(
    ("changes", "flops"),
    [
        ({}, 5 * CELL),
        ({"bidirectional": True}, 2 * 5 * CELL),
        ({"layers": 2}, 5 * CELL + 5 * 2 * 4 * 3 * (3 + 3)),
        ({"layers": 2, "bidirectional": True}, 2 * (5 * CELL + 5 * 2 * 4 * 3 * (3 + 6))),
        ({"outputs": 7, "head": "linear"}, 5 * CELL + 2 * 3 * 7),
        ({"outputs": 7, "head": "linear", "return_sequences": True}, 5 * (CELL + 2 * 3 * 7)),
        ({"features": 0, "vocabulary": 100, "embedding": 2}, 5 * CELL),
    ],
)
def test_forward(changes: dict[str, object], flops: int) -> None:
    workload = Workload(**{**LAYER.__dict__, **changes})  # type: ignore[arg-type]
    for path in (Path.FORWARD, Path.EVALUATE, Path.PREDICT):
        assert arithmetic.flops_per_sample(case(workload, path)) == flops


def test_a_gradient_is_twice_the_forward_but_for_that_of_features() -> None:
    for path in (Path.BACKWARD, Path.FIT):
        assert arithmetic.flops_per_sample(case(LAYER, path)) == 3 * 5 * CELL - 5 * 2 * 4 * 3 * 2
    tokens = Workload("tokens", "", units=3, timesteps=5, vocabulary=100, embedding=2)
    assert arithmetic.flops_per_sample(case(tokens, Path.FIT)) == 3 * 5 * CELL


def test_decoding_is_by_the_token() -> None:
    chat = Workload("chat", "", "encoder-decoder", units=3, timesteps=5, vocabulary=10, embedding=2, decode_tokens=4)
    assert arithmetic.flops_per_sample(case(chat)) == 2 * 5 * CELL + 5 * 2 * 3 * 10
    assert arithmetic.flops_per_sample(case(chat, Path.PREDICT)) == CELL + 2 * 3 * 10 + 5 * CELL / 4


def test_of_a_users_own_model_nothing_is_known() -> None:
    own = Workload("own", "", "builder", timesteps=5, builder="a:b")
    assert arithmetic.flops_per_sample(case(own)) is None
    assert arithmetic.input_bytes_per_sample(case(own)) is None


def test_inputs_are_tokens_or_features_of_four_bytes() -> None:
    assert arithmetic.input_bytes_per_sample(case(LAYER)) == 4 * 5 * 2
    assert arithmetic.input_bytes_per_sample(case(workloads.builtin()["translation"])) == 4 * 20
