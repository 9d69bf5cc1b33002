"""What the card of a fitted encoding warns of, one sentence each."""

from __future__ import annotations

from gnomon.pipeline.ground import FLAT, Ground


def about_ground(ground: Ground, estimator: str) -> tuple[str, ...]:
    """Return what speaks against an encoding fitted to this corpus by this estimator."""
    said = [_signal(ground)]
    trust = ground.trust
    if trust is not None and trust.debiased.rank > 0 and trust.no_geometry is not None:
        said.append(f"Little of this geometry is certain: {trust.no_geometry}.")
    if estimator == "plugin":
        share = None if trust is None else trust.noise_share
        amount = "" if share is None else f": {100 * share:.0f} % of their mean square here"
        said.append(f"Plug-in distances hold sampling noise{amount}.")
    said += [] if trust is None else list(trust.warnings)
    return tuple(text for text in said if text is not None)


def _signal(ground: Ground) -> str | None:
    if ground.informative or not ground.geometry.distances.any():
        return None  # zeros describe nothing, and that is said
    shown = "" if ground.p_value is None else f" (p = {ground.p_value:.2g})"
    if ground.informative is None:
        return "Whether position matters in this corpus can not be told from so few documents."
    return (
        f"Position can not be told from noise in this corpus{shown}: these vectors describe chance "
        "as much as position."
    )


def instead_of_debiased(ground: Ground, rank: int) -> str:
    """Say that plug-in distances were fitted, and why."""
    if ground.untrusted == FLAT or not ground.geometry.distances.any():
        return "All positions have the same law, so every vector is 0."
    if ground.trust is None:
        reason = str(ground.untrusted).rstrip(".")
        return (
            f"Nothing could be debiased ({reason}), so the plug-in distances were fitted at rank "
            f"{rank}: their sampling noise is in these vectors."
        )
    return (
        "No direction exceeds the noise edge (effective rank 0), so the plug-in distances were "
        f"fitted at rank {rank}: these vectors rest on sampling noise."
    )


def shortened(there: int, kept: int) -> str:
    """Say that the dimension is too small for all directions."""
    return (
        f"There are {there} directions and the dimension holds {kept}: the others are left out, "
        "and distances are too short by their part."
    )
