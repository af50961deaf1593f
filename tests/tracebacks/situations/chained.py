"""An error raised from another one."""

from __future__ import annotations


def main():
    config = {"x": 1}
    probe()
    try:
        config["y"]["z"] = 1  # break here
    except KeyError as error:
        raise ValueError("no y in the config") from error
