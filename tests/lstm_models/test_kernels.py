"""Which cases cannot exist, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lstm_models import availability, kernels, workloads
from lstm_models.case import Case
from lstm_models.words import Device, Framework, Inputs, Kernel, Path, Precision
from lstm_models.workloads import Workload
from tests.lstm_models import tiny

FEATURES = tiny.FEATURES


def test_settings_leave_nothing_to_chance_but_in_auto() -> None:
    for kernel in Kernel:
        found = kernels.settings(kernel)
        left = [found.use_cudnn is None, found.unroll is None, found.jit_compile == "auto"]
        assert left == [kernel is Kernel.AUTO] * 3
    assert kernels.settings(Kernel.XLA).jit_compile is True
    assert kernels.settings(Kernel.XLA).use_cudnn is False
    assert kernels.settings(Kernel.UNROLLED).unroll is True
    assert kernels.settings(Kernel.CUDNN).use_cudnn is True


def test_the_proof_must_find_the_kernel_that_was_asked_for() -> None:
    for kernel in Kernel:
        expected = {Kernel.AUTO: None, Kernel.CUDNN_LAYER: "cudnn"}.get(kernel, str(kernel))
        assert kernels.expected(tiny.case(FEATURES, kernel=kernel)) == expected


def test_all_but_cudnn_exist_on_the_cpu() -> None:
    for workload in workloads.builtin().values():
        for kernel in (Kernel.AUTO, Kernel.LOOP, Kernel.XLA):
            assert availability.unavailable(tiny.case(workload, kernel=kernel)) is None
        for kernel in (Kernel.CUDNN, Kernel.CUDNN_LAYER):
            assert availability.unavailable(tiny.case(workload, kernel=kernel)) == (
                f"{kernel} on cpu: cuDNN runs on NVIDIA GPUs only"
            )


@pytest.mark.parametrize(
    ("workload", "kernel", "words"),
    [
        pytest.param(replace(FEATURES, recurrent_dropout=0.2), Kernel.CUDNN, "recurrent_dropout = 0.2"),
        pytest.param(replace(FEATURES, activation="relu"), Kernel.CUDNN, 'activation = "relu"'),
        pytest.param(replace(FEATURES, use_bias=False), Kernel.CUDNN, "use_bias = false"),
        pytest.param(replace(FEATURES, mask="left"), Kernel.CUDNN, 'mask = "left"'),
        pytest.param(replace(FEATURES, mask="left"), Kernel.AUTO, "auto on gpu picks cuDNN"),
        pytest.param(replace(FEATURES, timesteps=201), Kernel.UNROLLED, "201 cells"),
        pytest.param(replace(FEATURES, timesteps=60, layers=2, bidirectional=True), Kernel.UNROLLED, "240 cells"),
        pytest.param(replace(tiny.CHATBOT, timesteps=101), Kernel.UNROLLED, "202 cells"),
        pytest.param(replace(FEATURES, mask="left", layers=2, bidirectional=True), Kernel.UNROLLED, "wrong steps"),
        pytest.param(Workload("b", "", kind="builder", builder="a:b"), Kernel.UNROLLED, "needs timesteps"),
        pytest.param(Workload("s", "", kind="saved", saved="m.keras"), Kernel.UNROLLED, "auto, loop or xla"),
        pytest.param(Workload("s", "", kind="saved", saved="m.keras"), Kernel.CUDNN, "auto, loop or xla"),
        pytest.param(replace(FEATURES, activation="relu"), Kernel.CUDNN_LAYER, 'cudnn-layer: activation = "relu"'),
        pytest.param(replace(FEATURES, dropout=0.2), Kernel.CUDNN_LAYER, "CuDNNLSTM has no such argument"),
        pytest.param(replace(FEATURES, mask="right"), Kernel.CUDNN_LAYER, "CuDNNLSTM refuses a mask"),
        pytest.param(Workload("b", "", kind="builder", builder="a:b"), Kernel.CUDNN_LAYER, "it has two biases"),
        pytest.param(Workload("s", "", kind="saved", saved="m.keras"), Kernel.CUDNN_LAYER, "auto, loop or xla"),
    ],
)
def test_what_cannot_exist_on_a_gpu_host_says_why(workload: Workload, kernel: Kernel, words: str) -> None:
    reason = availability.unavailable(tiny.case(workload, kernel=kernel, device=Device.GPU))
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(
    ("workload", "kernel"),
    [
        pytest.param(FEATURES, Kernel.CUDNN, id="plain"),
        pytest.param(replace(FEATURES, dropout=0.2), Kernel.CUDNN, id="dropout keeps cuDNN"),
        pytest.param(replace(FEATURES, mask="right"), Kernel.CUDNN, id="padding at the end"),
        pytest.param(replace(FEATURES, bidirectional=True), Kernel.CUDNN, id="bidirectional"),
        pytest.param(replace(FEATURES, stateful=True), Kernel.CUDNN, id="stateful"),
        pytest.param(replace(FEATURES, mask="left", activation="relu"), Kernel.AUTO, id="left mask off cuDNN anyway"),
        pytest.param(replace(FEATURES, mask="left"), Kernel.LOOP, id="left mask in a loop"),
        pytest.param(replace(FEATURES, bidirectional=True), Kernel.CUDNN_LAYER, id="bidirectional CuDNNLSTM"),
        pytest.param(replace(FEATURES, stateful=True), Kernel.CUDNN_LAYER, id="stateful CuDNNLSTM"),
        pytest.param(FEATURES, Kernel.XLA, id="XLA with a layer that could use cuDNN"),
        pytest.param(replace(FEATURES, timesteps=200), Kernel.UNROLLED, id="longest unrolled"),
        pytest.param(replace(FEATURES, stateful=True), Kernel.UNROLLED, id="stateful unrolled"),
    ],
)
def test_what_can_exist_is_not_skipped(workload: Workload, kernel: Kernel) -> None:
    assert availability.unavailable(tiny.case(workload, kernel=kernel, device=Device.GPU)) is None


def test_a_saved_model_is_measured_in_one_precision() -> None:
    saved = Workload("s", "", kind="saved", saved="m.keras")
    assert availability.unavailable(tiny.case(saved)) is None
    reason = availability.unavailable(tiny.case(saved, precision=Precision.MIXED_FLOAT16))
    assert reason is not None
    assert "the precision it was saved with" in reason


def test_each_framework_has_its_kernels_and_says_so_of_the_others() -> None:
    for framework, kernel in [(Framework.JAX, Kernel.XLA), (Framework.TENSORFLOW, Kernel.INDUCTOR)]:
        reason = availability.unavailable(replace(tiny.case(FEATURES, kernel=kernel), framework=framework))
        assert reason == f"{kernel}: Keras on {framework} has no such kernel"
    for framework, found in kernels.EXIST.items():
        assert {Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP} <= set(found)
        masked = replace(tiny.case(replace(FEATURES, mask="right"), kernel=Kernel.CUDNN, device=Device.GPU))
        reason = availability.unavailable(replace(masked, framework=framework))
        assert (reason is None) == (framework is Framework.TENSORFLOW)


@pytest.mark.parametrize(
    ("workload", "path", "kernel", "words"),
    [
        pytest.param(replace(FEATURES, mask="right"), Path.FORWARD, Kernel.INDUCTOR, "compiles each step by itself"),
        pytest.param(replace(FEATURES, recurrent_dropout=0.2), Path.FIT, Kernel.INDUCTOR, "recurrent_dropout = 0.2"),
        pytest.param(replace(FEATURES, timesteps=41), Path.FORWARD, Kernel.INDUCTOR, "41 cells"),
        pytest.param(replace(tiny.CHATBOT, timesteps=21), Path.FORWARD, Kernel.INDUCTOR, "42 cells"),
        pytest.param(replace(FEATURES, stateful=True), Path.FIT, Kernel.AUTO, "measure loop"),
        pytest.param(replace(FEATURES, stateful=True), Path.BACKWARD, Kernel.CUDNN, "measure loop"),
        pytest.param(FEATURES, Path.FORWARD, Kernel.UNROLLED, "no such kernel"),
    ],
)
def test_what_cannot_exist_on_torch_says_why(workload: Workload, path: Path, kernel: Kernel, words: str) -> None:
    case = replace(tiny.case(workload, path, kernel, device=Device.GPU), framework=Framework.TORCH)
    assert words in (availability.unavailable(case) or "")


@pytest.mark.parametrize(
    ("workload", "path", "kernel"),
    [
        pytest.param(replace(FEATURES, timesteps=40), Path.FIT, Kernel.INDUCTOR, id="longest compiled"),
        pytest.param(replace(FEATURES, activation="relu", use_bias=False), Path.FIT, Kernel.INDUCTOR, id="inductor"),
        pytest.param(replace(FEATURES, stateful=True), Path.FIT, Kernel.LOOP, id="stateful in the general loop"),
        pytest.param(replace(FEATURES, stateful=True, mask="left"), Path.FIT, Kernel.AUTO, id="mask takes that loop"),
        pytest.param(replace(FEATURES, stateful=True), Path.PREDICT, Kernel.AUTO, id="stateful inference"),
        pytest.param(replace(FEATURES, mask="left"), Path.FIT, Kernel.AUTO, id="left mask"),
    ],
)
def test_what_can_exist_on_torch_is_not_skipped(workload: Workload, path: Path, kernel: Kernel) -> None:
    case = replace(tiny.case(workload, path, kernel, device=Device.GPU), framework=Framework.TORCH)
    assert availability.unavailable(case) is None


def test_the_framework_stands_in_ids_and_in_the_work_unless_it_is_the_default() -> None:
    plain = tiny.case(FEATURES)
    other = replace(plain, framework=Framework.JAX)
    assert other.key == plain.key[:-1] + "-jax]"
    assert other.hash != plain.hash
    for case in (plain, other):
        assert Case.parse(case.key, {FEATURES.name: FEATURES}) == case
        assert Case.from_plain(case.to_plain()).to_plain() == case.to_plain()
    assert "framework" not in plain.to_plain()


def test_inputs_on_the_host_stand_in_ids_and_in_the_work_and_are_forwards_choice() -> None:
    plain = tiny.case(FEATURES)
    host = replace(plain, inputs=Inputs.HOST)
    assert host.key == plain.key[:-1] + "-host]"
    assert host.hash != plain.hash
    assert "inputs" not in plain.to_plain()
    for case in (host, replace(host, framework=Framework.TORCH)):
        assert Case.parse(case.key, {FEATURES.name: FEATURES}) == case
        assert Case.from_plain(case.to_plain()).hash == case.hash
    assert availability.unavailable(host) is None
    for path in set(Path) - {Path.FORWARD}:
        assert f"the case's path is {path}" in (availability.unavailable(replace(host, path=path)) or "")


@pytest.mark.parametrize(
    ("workload", "kernel", "precision", "words"),
    [
        (replace(FEATURES, mask="right"), Kernel.CUDNN, Precision.FLOAT32, 'mask = "right"'),
        (FEATURES, Kernel.CUDNN, Precision.MIXED_FLOAT16, "no 16-bit types"),
        (FEATURES, Kernel.AUTO, Precision.MIXED_BFLOAT16, "auto on gpu picks cuDNN here: mixed_bfloat16"),
        (replace(FEATURES, stateful=True), Kernel.LOOP, Precision.FLOAT32, "loses the states"),
        (replace(FEATURES, timesteps=61), Kernel.UNROLLED, Precision.FLOAT32, "61 cells"),
        (replace(FEATURES, mask="left", layers=2, bidirectional=True), Kernel.UNROLLED, Precision.FLOAT32, "not zero"),
    ],
)
def test_what_cannot_exist_on_jax_says_why(
    workload: Workload, kernel: Kernel, precision: Precision, words: str
) -> None:
    asked = tiny.case(workload, kernel=kernel, precision=precision, device=Device.GPU)
    assert words in (availability.unavailable(replace(asked, framework=Framework.JAX)) or "")
    assert words not in (availability.unavailable(asked) or "")


@pytest.mark.parametrize(
    ("workload", "kernel", "precision"),
    [
        (FEATURES, Kernel.CUDNN, Precision.FLOAT32),
        (replace(FEATURES, bidirectional=True, dropout=0.2), Kernel.CUDNN, Precision.FLOAT32),
        (FEATURES, Kernel.LOOP, Precision.MIXED_FLOAT16),
        # A loop whatever is asked, so that no 16-bit cuDNN is in the way; and no check of masks while it runs.
        (replace(FEATURES, activation="relu"), Kernel.AUTO, Precision.MIXED_FLOAT16),
        (replace(FEATURES, mask="left"), Kernel.AUTO, Precision.FLOAT32),
    ],
)
def test_what_exists_on_jax_is_no_less(workload: Workload, kernel: Kernel, precision: Precision) -> None:
    asked = tiny.case(workload, kernel=kernel, precision=precision, device=Device.GPU)
    assert availability.unavailable(replace(asked, framework=Framework.JAX)) is None
