"""Where constants belong that a formula makes beside an array.

PyTorch must be told, for it joins no arrays of two devices. JAX must not: it puts a constant where
it is needed, and an array made on a device that was named is committed to it, as is all that is
computed with it, so that it can not go to another device any more [array-api].
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np


def device_beside(x: Any, *, xp: Any) -> Any:
    """Return the device on which to make constants beside an array, or None to name none."""
    named = xp is not np and not array_api_compat.is_jax_namespace(xp)
    return array_api_compat.device(x) if named else None
