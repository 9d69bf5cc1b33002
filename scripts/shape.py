"""Count what makes the source hard to live in: modules, lines, statements, names, importers.

    python scripts/shape.py [ROOM ...] [--list]

Per room: files, lines, statements (imports and docstrings are none), functions and how many of
them are named by a participle, modules with a single importer in their own room (a front apart),
and modules whose definitions fall into two halves that do not use each other. `--list` names them.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
NO_PARTICIPLES = {"embed", "need", "seed", "feed", "speed", "red", "bed", "shed"} | {
    "string",
    "ring",
    "bring",
    "spring",
    "embedding",
    "encoding",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the source, read once."""

    name: str
    text: str
    tree: ast.Module
    is_package: bool

    @property
    def room(self) -> str:
        """The room: the first name below the package, or none for its top."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 2 or (self.is_package and len(parts) > 1) else ""


def read_modules() -> list[Module]:
    """Read every module of the package."""
    return [_read(path) for path in sorted(SOURCE.rglob("*.py"))]


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(SOURCE).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    return Module(name, text, ast.parse(text), is_package)


def count_statements(module: Module) -> int:
    """Count statements that do something: no import, no docstring, no bare string."""
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(module.tree)
    )


def functions_of(module: Module) -> Iterator[Function]:
    """Yield every function and method."""
    return (node for node in ast.walk(module.tree) if isinstance(node, Function))


def is_participle(name: str) -> bool:
    """Tell if the first word of a name is a participle."""
    first = name.strip("_").split("_")[0]
    return bool(re.search(r"(ed|ing)$", first)) and first not in NO_PARTICIPLES


def importers(modules: list[Module]) -> dict[str, set[str]]:
    """Return for each module those that import it; what only a type checker reads counts too."""
    names = {module.name for module in modules}
    found: dict[str, set[str]] = {name: set() for name in names}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                wholes = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                wholes = {alias.name for alias in node.names}
            else:
                continue
            for whole in wholes & names - {module.name}:
                found[whole].add(module.name)
    return found


def find_single_importers(modules: list[Module]) -> list[str]:
    """Name the modules that one module of their own room imports, and nobody else but a front."""
    by_name = {module.name: module for module in modules}
    found = []
    for name, users in importers(modules).items():
        others = {user for user in users if not by_name[user].is_package}
        if by_name[name].is_package or len(others) != 1:
            continue
        other = by_name[next(iter(others))]
        if other.room and other.room == by_name[name].room:
            found.append(f"{name} <- {other.name}")
    return sorted(found)


def halves(module: Module) -> list[set[str]]:
    """Group the definitions of a module by who uses whom; one group is a module that holds."""
    defined = [
        node
        for node in module.tree.body
        if isinstance(node, Function | ast.ClassDef | ast.Assign | ast.AnnAssign)
    ]
    uses = {name: _names_in(node) for node in defined for name in _targets(node)}
    groups: list[set[str]] = []
    for name, used in uses.items():
        touching = [g for g in groups if any(name in uses[o] or o in used for o in g)]
        groups = [g for g in groups if g not in touching] + [{name}.union(*touching)]
    return [group for group in groups if any(_is_definition(module, name) for name in group)]


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_definition(module: Module, name: str) -> bool:
    return any(
        isinstance(node, Function | ast.ClassDef) and node.name == name for node in module.tree.body
    )


def is_split(module: Module) -> bool:
    """Tell if two groups of at least three definitions each do not use each other."""
    return not module.is_package and sum(len(group) >= 3 for group in halves(module)) > 1


def show(rooms: list[str], *, listed: bool) -> None:
    """Print the table, and what it counts."""
    modules = read_modules()
    single = find_single_importers(modules)
    names = rooms or sorted({module.room for module in modules})
    print(f"{'room':14}{'files':>6}{'lines':>8}{'statements':>12}{'functions':>11}", end="")
    print(f"{'participles':>13}{'single':>8}{'split':>7}")
    for room in [*names, *([] if rooms else ["all"])]:
        own = [module for module in modules if room in (module.room, "all")]
        _show_room(
            room or "(top)", own, [row for row in single if _within(row, own)], listed=listed
        )


def _within(row: str, own: list[Module]) -> bool:
    return row.partition(" ")[0] in {module.name for module in own}


def _show_room(room: str, own: list[Module], single: list[str], *, listed: bool) -> None:
    functions = [(module.name, f.name) for module in own for f in functions_of(module)]
    participles = [f"{where}: {name}" for where, name in functions if is_participle(name)]
    split = [module.name for module in own if is_split(module)]
    lines = sum(len(module.text.splitlines()) for module in own)
    statements = sum(count_statements(module) for module in own)
    print(f"{room:14}{len(own):>6}{lines:>8}{statements:>12}{len(functions):>11}", end="")
    print(f"{len(participles):>13}{len(single):>8}{len(split):>7}")
    if listed and room != "all":
        for title, rows in (("participle", participles), ("single", single), ("split", split)):
            print("\n".join(f"    {title}: {row}" for row in rows), end="\n" if rows else "")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*")
    parser.add_argument("--list", action="store_true", dest="listed")
    options = parser.parse_args()
    show(options.rooms, listed=options.listed)


if __name__ == "__main__":
    main()
