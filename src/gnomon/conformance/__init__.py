"""Is it what it says: certificates for encodings, functions, modules and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.conformance.verification import verify as verify

__getattr__, __dir__ = front(
    __name__,
    {
        "verification": ("verify",),
    },
)
