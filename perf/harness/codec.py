"""Records to plain JSON values and back; the one place that knows how they are stored.

Reading is strict: every key, type and value is checked and a fault raises :class:`Refusal` with file and entry.
"""

from __future__ import annotations

from typing import Any

from perf.harness.conditions_codec import decode_conditions, encode_conditions
from perf.harness.entry import Entry
from perf.harness.errors import Refusal
from perf.harness.records import CaseResult, CaseSpec, Environment, Facts, Failure, Machine, Sample

#: Form of run and baseline files. History:
#: 1  first form
#: 2  both hold which kernels Keras would pick on a GPU host (``selection``); in form 1 there is none
#: 3  samples hold the peak of GPU memory and the conditions that were read around their rounds
SCHEMA = 3
WITH_SELECTION = 2
WITH_CONDITIONS = 3


def check_schema(block: Entry) -> int:
    """The form of a block; refused where this version cannot read it."""
    schema = block["schema"].integer(minimum=1)
    if schema > SCHEMA:
        raise Refusal(
            f"{block.file}: written in form {schema}, this version of the suite reads up to {SCHEMA}. Update the "
            "checkout to the version that wrote the file."
        )
    return schema


def encode_machine(machine: Machine) -> dict[str, Any]:
    return {"id": machine.id, "identity": dict(machine.identity), "informs": dict(machine.informs)}


def decode_machine(entry: Entry) -> Machine:
    entry.closed("id", "identity", "informs")
    return Machine(identity=entry["identity"].texts(), informs=entry["informs"].texts(), id=entry["id"].text())


def encode_environment(environment: Environment) -> dict[str, Any]:
    return {
        "versions": dict(environment.versions),
        "packages": dict(environment.packages),
        "settings": dict(environment.settings),
        "variables": dict(environment.variables),
        "devices": list(environment.devices),
    }


def decode_environment(entry: Entry) -> Environment:
    entry.closed("versions", "packages", "settings", "variables", "devices")
    return Environment(
        versions=entry["versions"].texts(),
        packages=entry["packages"].texts(),
        settings=entry["settings"].texts(),
        variables=entry["variables"].texts(),
        devices=tuple(device.text() for device in entry["devices"].elements()),
    )


def encode_result(result: CaseResult) -> dict[str, Any]:
    """A case with its raw rounds by process; the payload, which only a worker needs, is not stored."""
    return {
        "schema": SCHEMA,
        "spec": encode_spec(result.spec),
        "samples": [encode_sample(sample) for sample in result.samples],
        "failure": None if result.failure is None else encode_failure(result.failure),
    }


def decode_result(entry: Entry) -> CaseResult:
    """Inverse of :func:`encode_result`; a case without samples must say why it failed."""
    schema = check_schema(entry)
    entry.closed("schema", "spec", "samples", "failure")
    failed = None if entry["failure"].value is None else decode_failure(entry["failure"])
    return CaseResult(
        spec=decode_spec(entry["spec"]),
        samples=tuple(decode_sample(s, schema) for s in entry["samples"].elements(at_least=0 if failed else 1)),
        failure=failed,
    )


def encode_spec(spec: CaseSpec) -> dict[str, Any]:
    return {
        "key": spec.key,
        "id": spec.id,
        "path": spec.path,
        "workload": spec.workload,
        "batch": spec.batch,
        "device": spec.device,
        "kernel": spec.kernel,
        "precision": spec.precision,
        "hash": spec.hash,
        "steps_per_call": spec.steps_per_call,
        "keeps_calls": spec.keeps_calls,
        "expects_kernel": spec.expects_kernel,
    }


def decode_spec(entry: Entry) -> CaseSpec:
    entry.closed(
        "key", "id", "path", "workload", "batch", "device", "kernel", "precision", "hash", "steps_per_call",
        "keeps_calls", "expects_kernel",
    )  # fmt: skip
    return CaseSpec(
        key=entry["key"].text(),
        id=entry["id"].text(),
        path=entry["path"].text(),
        workload=entry["workload"].text(),
        batch=entry["batch"].integer(minimum=1),
        device=entry["device"].text(),
        kernel=entry["kernel"].text(),
        precision=entry["precision"].text(),
        hash=entry["hash"].text(),
        steps_per_call=entry["steps_per_call"].integer(minimum=1),
        keeps_calls=entry["keeps_calls"].flag(),
        expects_kernel=None if entry["expects_kernel"].value is None else entry["expects_kernel"].text(),
        payload={},
    )


def encode_failure(failure: Failure) -> dict[str, Any]:
    return {"stage": failure.stage, "message": failure.message}


def decode_failure(entry: Entry) -> Failure:
    entry.closed("stage", "message")
    return Failure(entry["stage"].text(), entry["message"].text())


def encode_sample(sample: Sample) -> dict[str, Any]:
    facts = sample.facts
    return {
        "process": sample.process,
        "calls_per_round": sample.calls_per_round,
        "steps_per_call": sample.steps_per_call,
        "seconds_per_round": list(sample.seconds_per_round),
        "seconds_per_call": list(sample.seconds_per_call),
        "rounds_discarded": sample.rounds_discarded,
        "steady": sample.steady,
        "first_call_seconds": sample.first_call_seconds,
        "bytes_peak": sample.bytes_peak,
        "timed_traces": sample.timed_traces,
        "device_bytes_peak": sample.device_bytes_peak,
        "conditions": None if sample.conditions is None else encode_conditions(sample.conditions),
        "facts": {
            "kernel": facts.kernel,
            "device": facts.device,
            "resolved": dict(facts.resolved),
            "first_call_traces": facts.first_call_traces,
            "output_error": facts.output_error,
            "gradient_error": facts.gradient_error,
            "tolerance": facts.tolerance,
            "probe": list(facts.probe),
        },
    }


def decode_sample(entry: Entry, schema: int = SCHEMA) -> Sample:
    has_conditions = schema >= WITH_CONDITIONS
    entry.closed(
        "process", "calls_per_round", "steps_per_call", "seconds_per_round", "seconds_per_call", "rounds_discarded",
        "steady", "first_call_seconds", "bytes_peak", "timed_traces", "facts",
        *(("device_bytes_peak", "conditions") if has_conditions else ()),
    )  # fmt: skip
    on_device = entry["device_bytes_peak"] if has_conditions else None
    conditions = entry["conditions"] if has_conditions else None
    facts = entry["facts"].closed(
        "kernel", "device", "resolved", "first_call_traces", "output_error", "gradient_error", "tolerance", "probe"
    )
    return Sample(
        process=entry["process"].integer(),
        calls_per_round=entry["calls_per_round"].integer(minimum=1),
        steps_per_call=entry["steps_per_call"].integer(minimum=1),
        seconds_per_round=tuple(round_.positive() for round_ in entry["seconds_per_round"].elements(at_least=1)),
        seconds_per_call=tuple(call.positive() for call in entry["seconds_per_call"].elements()),
        rounds_discarded=entry["rounds_discarded"].integer(),
        steady=entry["steady"].flag(),
        first_call_seconds=entry["first_call_seconds"].positive(),
        bytes_peak=None if entry["bytes_peak"].value is None else entry["bytes_peak"].integer(),
        timed_traces=entry["timed_traces"].integer(),
        facts=Facts(
            kernel=facts["kernel"].text(),
            device=facts["device"].text(),
            resolved=facts["resolved"].texts(),
            first_call_traces=facts["first_call_traces"].integer(),
            output_error=None if facts["output_error"].value is None else facts["output_error"].number(),
            gradient_error=None if facts["gradient_error"].value is None else facts["gradient_error"].number(),
            tolerance=facts["tolerance"].positive(),
            probe=tuple(number.number() for number in facts["probe"].elements()),
        ),
        device_bytes_peak=None if on_device is None or on_device.value is None else on_device.integer(),
        conditions=None if conditions is None or conditions.value is None else decode_conditions(conditions),
    )
