"""`python -m gnomon`: the command line, also where its script is not on the path."""

from __future__ import annotations

from gnomon.cli.app import main

if __name__ == "__main__":
    main()
