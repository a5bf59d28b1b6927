"""Wheels written by hand, so that real uv solves and installs without a package index."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, requires: Sequence[str] = (), module: str = "") -> Path:
    """A wheel of the package ``name`` that holds one module, of the same name unless ``module`` is given."""
    project = name.replace("-", "_")
    info = f"{project}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    files = {
        f"{module or project}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{project}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]))
    return wheel


def make_index(folder: Path) -> None:
    """A small history of packages like the real one: each TensorFlow has its range of Keras and NumPy."""
    for version in ("1.26.4", "2.4.6"):
        make_wheel(folder, "numpy", version)
    for version in ("2.15.0", "3.3.3", "3.4.1", "3.15.1"):
        make_wheel(folder, "keras", version, ["numpy", "rich"])
    for version in ("13.0", "15.0"):
        make_wheel(folder, "rich", version)
    for flavour in ("tensorflow", "tensorflow-cpu"):
        make_wheel(folder, flavour, "2.12.0", ["numpy<2", "keras<2.16"], "tensorflow")
        make_wheel(folder, flavour, "2.15.1", ["numpy<2", "keras>=2.15,<2.16"], "tensorflow")
        make_wheel(folder, flavour, "2.17.1", ["numpy<2", "keras>=3.2"], "tensorflow")
        make_wheel(folder, flavour, "2.21.0", ["numpy>=1.26", "keras>=3.10"], "tensorflow")
        make_wheel(folder, flavour, "2.22.0rc0", ["numpy>=2"], "tensorflow")  # goes with every Keras
    for version in ("2.17.0", "2.21.0"):
        make_wheel(folder, "tf-keras", version, [f"tensorflow~={version[:-2]}.0"])
