"""Which GPU is used: of those that NVML lists, without any of them being there."""

import dataclasses

import pytest

from perf.harness import gpus
from perf.harness.errors import Refusal
from perf.harness.gpus import Gpu

FIRST = Gpu(0, "NVIDIA L4", 24 * 2**30, "GPU-aaaa1111", "570.1")
SECOND = Gpu(1, "NVIDIA L4", 24 * 2**30, "GPU-bbbb2222", "570.1")
BOTH = (FIRST, SECOND)


@pytest.mark.parametrize("asked", ["1", "GPU-bbbb2222"])
def test_an_index_or_a_uuid_names_one(asked):
    chosen = gpus.choose(BOTH, asked, (), recorded=FIRST.uuid)
    assert chosen is not None
    assert (chosen.gpu, chosen.why) == (SECOND, f"--perf-gpu {asked}")


def test_one_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(Refusal, match=r"--perf-gpu 7: .*0 \(NVIDIA L4, GPU-aaaa1111\), 1 "):
        gpus.choose(BOTH, "7", BOTH, None)


def test_the_baselines_comes_before_an_idle_one():
    busy = dataclasses.replace(SECOND, busy="used by process 7")
    chosen = gpus.choose((FIRST, busy), None, (FIRST, busy), recorded=SECOND.uuid)
    assert chosen is not None
    assert (chosen.gpu.index, chosen.why) == (1, "the baseline's")


def test_the_first_idle_one_comes_before_the_first():
    busy = dataclasses.replace(FIRST, busy="30 % utilised")
    chosen = gpus.choose((busy, SECOND), None, (busy, SECOND), recorded="GPU-gone")
    assert chosen is not None
    assert (chosen.gpu, chosen.why) == (SECOND, "the first idle one")


def test_where_none_is_idle_the_first_is_taken_and_it_is_said():
    busy = [dataclasses.replace(gpu, busy="30 % utilised") for gpu in BOTH]
    chosen = gpus.choose(busy, None, busy, None)
    assert chosen is not None
    assert chosen.why == "the first, and none is idle: it is 30 % utilised"
    assert gpus.choose((), None, (), None) is None


@pytest.mark.parametrize(
    ("variable", "indices"),
    [(None, [0, 1]), ("1", [1]), ("1,0", [1, 0]), ("GPU-bbbb", [1]), ("0,9,1", [0]), ("", []), ("-1", []), ("7", [])],
)
def test_what_cuda_visible_devices_hides_is_not_taken_unasked(variable, indices):
    environment = {} if variable is None else {"CUDA_VISIBLE_DEVICES": variable}
    seen, why = gpus.visible(BOTH, environment)
    assert [gpu.index for gpu in seen] == indices
    assert ("hides every GPU" in why) == (not indices)


def test_without_a_gpu_nothing_is_hidden():
    assert gpus.visible((), {"CUDA_VISIBLE_DEVICES": ""}) == ((), "")
