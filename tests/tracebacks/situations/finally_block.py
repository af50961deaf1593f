"""An error in a `finally` block, while another one passes through."""

from __future__ import annotations


def main():
    state = {"open": True}
    try:
        state["open"] = None + 1
    finally:
        probe()
        state.clear()  # break here
        state["closed"] = state.pop("open") or 0
