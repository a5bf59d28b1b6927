"""Which cases each profile holds.

A grid multiplies out; profiles are lists of grids. ``smoke`` is for a first answer within minutes: at most 24 cases,
chosen so that three processes of all of them end within five minutes on two cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lstm_models import availability, kernels
from lstm_models.case import Case
from lstm_models.words import Device, Framework, Inputs, Kernel, Path, Precision
from lstm_models.workloads import Workload
from perf.harness import suite


@dataclass(frozen=True, slots=True)
class Grid:
    """All combinations of what is listed. ``workloads`` and ``batches`` default to all there are.

    A workload named in ``workloads`` that is not available is an error of this file, and raises ``KeyError``.
    """

    paths: tuple[Path, ...]
    devices: Mapping[Device, tuple[Kernel, ...]]  # the kernels of each device
    workloads: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    precisions: tuple[Precision, ...] = (Precision.FLOAT32,)
    without: tuple[str, ...] = ()
    inputs: Inputs = Inputs.DEVICE

    def cases(
        self, available: Mapping[str, Workload], devices: Iterable[Device], framework: Framework
    ) -> Iterator[Case]:
        """Of the kernels that ``framework`` has."""
        for name in self.workloads or (name for name in available if name not in self.without):
            workload = available[name]
            for path in self.paths:
                for batch in self.batches or workload.batch_sizes:
                    for device in devices:
                        for kernel in self.devices.get(device, ()):
                            if kernel not in kernels.EXIST[framework]:
                                continue
                            for precision in self.precisions:
                                yield Case(
                                    path,
                                    workload,
                                    batch,
                                    device,
                                    kernel,
                                    precision,
                                    framework=framework,
                                    inputs=self.inputs,
                                )


AUTO, CUDNN, LOOP, UNROLLED = Kernel.AUTO, Kernel.CUDNN, Kernel.LOOP, Kernel.UNROLLED
XLA, INDUCTOR = Kernel.XLA, Kernel.INDUCTOR
CPU, GPU = Device.CPU, Device.GPU
ALL_PATHS = tuple(Path)
#: Not the layer of Keras 2: that and all the others exist in no one environment. It is a contestant of expectations.
OF_ONE_KERAS = tuple(kernel for kernel in Kernel if kernel is not Kernel.CUDNN_LAYER)

#: One device: the whole question on the smallest real workload. Two devices share the 24 places.
SMOKE = (
    Grid((Path.FORWARD,), {CPU: (LOOP, XLA), GPU: (CUDNN, LOOP)}, ("translation",), (1, 32)),
    Grid((Path.BACKWARD,), {CPU: (LOOP, XLA), GPU: (CUDNN, LOOP)}, ("translation",), (32,)),
    Grid((Path.FIT,), {CPU: (LOOP,), GPU: (CUDNN,)}, ("translation",), (32,)),
    Grid((Path.EVALUATE,), {CPU: (LOOP,), GPU: (CUDNN,)}, ("translation",), (32,)),
    Grid((Path.PREDICT,), {CPU: (LOOP,), GPU: (CUDNN,)}, ("translation",), (1, 32)),
)
SMOKE_ONE_DEVICE = (
    *SMOKE,
    Grid((Path.FORWARD,), {CPU: (UNROLLED,), GPU: (XLA,)}, ("translation",), (1, 32)),
    Grid((Path.BACKWARD,), {CPU: (LOOP, XLA), GPU: (CUDNN, LOOP)}, ("translation",), (1,)),
    Grid((Path.FIT,), {CPU: (XLA,), GPU: (LOOP,)}, ("translation",), (32,)),
    Grid((Path.PREDICT,), {CPU: (XLA,), GPU: (LOOP,)}, ("translation",), (1,)),
    Grid((Path.FORWARD,), {CPU: (AUTO,), GPU: (AUTO,)}, ("layer-128",), (32,)),
)
#: Two devices and two sides: twelve cases.
SMOKE_PAIRED = (
    Grid((Path.FORWARD,), {CPU: (LOOP, XLA), GPU: (CUDNN, LOOP)}, ("translation",), (32,)),
    Grid((Path.BACKWARD, Path.FIT), {CPU: (LOOP,), GPU: (CUDNN,)}, ("translation",), (32,)),
    Grid((Path.PREDICT,), {CPU: (LOOP,), GPU: (CUDNN,)}, ("translation",), (1, 32)),
)
#: A step of these takes seconds to minutes on a few CPU cores; there they run in ``full`` only.
FOR_GPUS = ("speech", "ptb-medium")
NIGHTLY = (
    *SMOKE_ONE_DEVICE,
    Grid(ALL_PATHS, {CPU: (AUTO, XLA)}, without=FOR_GPUS),
    Grid(ALL_PATHS, {GPU: (AUTO, CUDNN, LOOP, XLA)}),
    Grid(
        (Path.FORWARD, Path.FIT),
        {CPU: (LOOP,), GPU: (CUDNN,)},
        ("translation", "layer-128"),
        precisions=(Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16),
    ),
)
#: Everything, the combinations that cannot exist too: they are skipped with the reason, which is an answer as well.
FULL = (
    *NIGHTLY,
    Grid(ALL_PATHS, {CPU: tuple(Kernel), GPU: OF_ONE_KERAS}),
    Grid(
        (Path.FORWARD, Path.FIT, Path.PREDICT),
        {CPU: (LOOP, XLA), GPU: (CUDNN, LOOP, XLA)},
        precisions=(Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16),
    ),
)
#: A user's own file replaces the built-in workloads, so that the first answer about them comes within minutes too.
OWN_SMOKE = (Grid((Path.FORWARD, Path.FIT, Path.PREDICT), {CPU: (AUTO, XLA), GPU: (AUTO, XLA)}),)
OWN = (Grid(ALL_PATHS, {CPU: (AUTO, LOOP, XLA), GPU: (AUTO, CUDNN, LOOP, XLA)}),)
OWN_FULL = (Grid(ALL_PATHS, {CPU: tuple(Kernel), GPU: OF_ONE_KERAS}, precisions=tuple(Precision)),)

#: What the assumptions about GPUs are checked with: small, since it counts what is proved, and one batch that is large
#: enough to be seen in memory and copies.
GPU_CHECK = (
    Grid(ALL_PATHS, {GPU: (CUDNN, XLA)}, ("layer-128",), (32,)),
    Grid((Path.FORWARD, Path.BACKWARD), {CPU: (LOOP,), GPU: (LOOP, AUTO)}, ("layer-128",), (32,)),
    Grid((Path.FORWARD,), {CPU: (AUTO,), GPU: (UNROLLED,)}, ("layer-128",), (32,)),
    Grid((Path.FORWARD,), {GPU: (CUDNN,)}, ("layer-128",), (1024,)),
    Grid((Path.FORWARD,), {GPU: (CUDNN,)}, ("layer-128",), (1024,), inputs=Inputs.HOST),
    Grid(
        (Path.FORWARD,),
        {GPU: (CUDNN, LOOP)},
        ("layer-128",),
        (32,),
        (Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16),
    ),
    Grid(
        (Path.FORWARD,),
        {GPU: (AUTO,)},
        ("layer-128-recurrent-dropout", "layer-128-relu", "layer-128-no-bias"),
        (32,),
    ),
    Grid((Path.FORWARD,), {GPU: (CUDNN,)}, ("layer-128-mask-right", "layer-128-mask-left"), (32,)),
    Grid((Path.FORWARD,), {GPU: (XLA,)}, ("sentiment",), (1,)),
)

BUILT_IN_PROFILES = {"smoke": SMOKE_ONE_DEVICE, "nightly": NIGHTLY, "full": FULL, suite.GPU_CHECK: GPU_CHECK}
OWN_PROFILES = {"smoke": OWN_SMOKE, "nightly": OWN, "full": OWN_FULL}


def cases(
    profile: str,
    available: Mapping[str, Workload],
    devices: tuple[Device, ...],
    framework: Framework = Framework.TENSORFLOW,
    *,
    own: bool = False,
    paired: bool = False,
) -> list[Case]:
    """The cases of a profile, each once, in the order of the grids."""
    grids = (OWN_PROFILES if own else BUILT_IN_PROFILES)[profile]
    if profile == "smoke" and not own and (paired or len(devices) > 1):
        grids = SMOKE_PAIRED if paired and len(devices) > 1 else SMOKE
    found = (case for grid in grids for case in grid.cases(available, devices, framework))
    return list({case.key: case for case in found if case_is_wanted(case, profile)}.values())


def case_is_wanted(case: Case, profile: str) -> bool:
    """Only ``full`` lists what cannot exist; a single kernel that is missing elsewhere would be noise."""
    return profile == "full" or case.device is Device.GPU or availability.unavailable(case) is None
