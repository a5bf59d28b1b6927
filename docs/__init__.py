"""Makes ``python -m docs.benchmarks.gate_quality`` find this folder and no installed package of the same name."""
