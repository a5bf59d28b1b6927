"""Reads the imports of a tree and holds them against rules; the rules stand in test_architecture.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str
    at_import_time: bool  # of the importer: not inside a function, not under TYPE_CHECKING


@dataclass(frozen=True)
class Forbidden:
    """Modules below ``importer``, but those below one of ``except_in``, may not import what is below ``imported``."""

    importer: str
    imported: str
    only_at_import_time: bool = False
    except_in: tuple[str, ...] = ()


def imports_of(module: str, source: str) -> Iterator[Import]:
    """All imports of a module's source, each with the module (or member) that it names."""

    def visit(node: ast.AST, at_import_time: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at_import_time = False
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, at_import_time)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".")[: -node.level]
                base = ".".join([*package, *([base] if base else [])])
            for alias in node.names:
                yield Import(module, f"{base}.{alias.name}", at_import_time)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, at_import_time)

    yield from visit(ast.parse(source), True)


def read_tree(root: Path, packages: Sequence[str]) -> dict[str, str]:
    """Source by dotted module name."""
    sources = {}
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text()
    return sources


def starts_with(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def broken_rules(sources: Mapping[str, str], rules: Sequence[Forbidden]) -> list[str]:
    """One line per import that breaks a rule."""
    broken = []
    for module, source in sources.items():
        for found in imports_of(module, source):
            broken += [f"{module} imports {found.imported}" for rule in rules if breaks(found, rule)]
    return broken


def breaks(found: Import, rule: Forbidden) -> bool:
    return (
        starts_with(found.importer, rule.importer)
        and starts_with(found.imported, rule.imported)
        and (found.at_import_time or not rule.only_at_import_time)
        and not any(starts_with(found.importer, name) for name in rule.except_in)
    )


def cycles(sources: Mapping[str, str]) -> list[list[str]]:
    """Import cycles at import time among the given modules, each as a path that ends where it starts."""
    graph: dict[str, set[str]] = {module: set() for module in sources}
    for module, source in sources.items():
        for found in imports_of(module, source):
            for target in (found.imported, found.imported.rpartition(".")[0]):
                if found.at_import_time and target in graph and target != module:
                    graph[module].add(target)
                    break
    finished: set[str] = set()
    result: list[list[str]] = []

    def walk(module: str, trail: list[str]) -> None:
        if module in trail:
            result.append([*trail[trail.index(module) :], module])
            return
        if module in finished:
            return
        for target in sorted(graph[module]):
            walk(target, [*trail, module])
        finished.add(module)

    for module in graph:
        walk(module, [])
    return result
