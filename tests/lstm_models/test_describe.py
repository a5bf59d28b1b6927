"""What a worker says of itself."""

from __future__ import annotations

from lstm_models.describe import variables


def test_only_variables_that_steer_the_work_are_recorded() -> None:
    environ = {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "XLA_FLAGS": "--x",
        "OMP_NUM_THREADS": "2",
        "LSTM_PERF_SLOWDOWN": "3",
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
