"""`gnomon reproduce`."""


def reproduce() -> None:
    """x."""
