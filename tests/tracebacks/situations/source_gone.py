"""The file is deleted before the error."""

from __future__ import annotations

import os


def main():
    if os.path.exists(__file__):
        os.remove(__file__)
    probe()
    names = {}  # break here
    return names["gone"]
