"""Fronts of rooms: names that other rooms may import, loaded when they are first asked for.

A room's `__init__` lists them by the module they live in,

    __getattr__, __dir__ = front(__name__, {"scaling": ("classical_mds", "scale")})

and once more for type checkers, in a `TYPE_CHECKING` block. So `from gnomon.distances import scale`
loads `gnomon.distances.scaling` and nothing else of the room. No name is that of a module of its
room: the import of such a module would hide it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def front(
    room: str, names: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a room, for names by the module they live in."""
    homes = {name: module for module, some in names.items() for name in some}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, found)  # so that it is looked for once
        return found

    def names_of_room() -> list[str]:
        return sorted(homes)

    return load, names_of_room
