"""Values that can be looked at, and those that can not: a compiler traces formulas without any.

What only a value can tell (a position out of range, a factor that leaves its type) is checked where
it can be seen, and left to the result where it can not.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.limbs import Limbs

Array = Any


def traced() -> bool:
    """Whether `torch.jit.trace` records, to which sizes are tensors and branches are invisible."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and bool(torch.jit.is_tracing())


def wrapped(values: Any) -> bool:
    """Whether a transform of `torch.func` carries a tensor, so that it has no values of its own."""
    torch: Any = sys.modules["torch"]
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(values))  # noqa: SLF001 - no other way to ask


def reading() -> AbstractContextManager[Any]:
    """Return a context in which values that are not hidden can be read, also within `torch.func`.

    There every result is wrapped, and so would be the copy that NumPy asks for.
    """
    torch: Any = sys.modules.get("torch")
    return nullcontext() if torch is None else torch._C._DisableFuncTorch()  # noqa: SLF001


def hidden(values: Array) -> bool:
    """Whether looking at values would fail, or break a graph that is being recorded."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return True
        return wrapped(values) or bool(values.device.type != "cpu" or values.requires_grad)
    return not hasattr(values, "__array__") or "Tracer" in type(values).__name__


def seen(values: Array | Limbs) -> NDArray[np.float64] | None:
    """Return values as NumPy's where they can be looked at, else None."""
    if isinstance(values, Limbs):
        whole, fraction = seen(values.whole), seen(values.fraction)
        return None if whole is None or fraction is None else whole + fraction
    if isinstance(values, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    if hidden(values):
        return None
    with reading():
        return np.asarray(values, dtype=np.float64)
