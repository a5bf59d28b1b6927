"""Energy of the CPU packages as Linux counts it (powercap, Intel's and AMD's RAPL); read from files, no library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Package:
    """One package's counter of microjoules, which begins anew after ``range_microjoules``."""

    file: Path
    range_microjoules: int


@dataclass(frozen=True, slots=True)
class CpuCounter:
    """The counters of all packages. They count all that runs there, other processes too."""

    packages: tuple[Package, ...]

    def read(self) -> tuple[int, ...] | None:
        """Microjoules of each package; ``None`` where one cannot be read any more."""
        try:
            return tuple(int(package.file.read_text()) for package in self.packages)
        except (OSError, ValueError):
            return None

    def joules(self, before: Sequence[int], after: Sequence[int]) -> float:
        """Counted between two readings less than one round of the counters apart (minutes at least)."""
        return (
            sum(
                (late - early) % package.range_microjoules
                for package, early, late in zip(self.packages, before, after, strict=True)
            )
            / 1e6
        )


def find(root: Path | None = None) -> tuple[CpuCounter | None, str]:
    """The counter, or ``None`` and why there is none."""
    root = root or ROOT
    zones = [zone for zone in sorted(root.glob("intel-rapl:*")) if zone.name.count(":") == 1]
    packages = []
    for zone in zones:
        try:
            if not (zone / "name").read_text().startswith("package"):
                continue  # psys is the whole board, and would count twice
            packages.append(Package(zone / "energy_uj", int((zone / "max_energy_range_uj").read_text())))
            packages[-1].file.read_text()
        except PermissionError:
            return None, (
                f"{zone / 'energy_uj'} may be read by root only (Linux guards it since CVE-2020-8694); an "
                "administrator can allow it to this user"
            )
        except (OSError, ValueError) as error:
            return None, f"{zone} cannot be read ({error})"
    if not packages:
        return None, "this host has no counter of its CPU packages (virtual machines have none)"
    return CpuCounter(tuple(packages)), ""
