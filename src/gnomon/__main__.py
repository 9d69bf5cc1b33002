"""`python -m gnomon`: the command line, also where its script is not on the path."""

from __future__ import annotations

import sys


def main() -> None:
    """Load and run the command line; Ctrl-C while it is loading is no traceback, either."""
    try:
        from gnomon.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("gnomon: interrupted; nothing was left half-written.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
