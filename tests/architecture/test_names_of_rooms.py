"""A module of a room must not take the place of the public function of its name."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest


@pytest.mark.parametrize("room", ["torch", "jax", "hf", "lab"])
def test_public_names_stay_what_they_are_when_all_modules_are_loaded(room: str) -> None:
    pytest.importorskip({"hf": "transformers", "lab": "torch"}.get(room, room))
    package = importlib.import_module(f"gnomon.{room}")
    for found in pkgutil.iter_modules(package.__path__, f"gnomon.{room}."):
        if found.name != "gnomon.lab.worker":  # a process of its own
            importlib.import_module(found.name)
    public = package.__all__
    assert public
    shadowed = [name for name in public if isinstance(getattr(package, name), ModuleType)]
    assert shadowed == []
