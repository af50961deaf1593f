"""``python -m xtab`` is the command ``xtab``."""

from __future__ import annotations

from xtab.cli import main

if __name__ == "__main__":
    main()
