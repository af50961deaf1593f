"""An error in the code itself, on one line and over several."""

from __future__ import annotations


class Model:
    def forward(self, x, scale=2):
        probe()
        hidden = {"x": x, "scale": scale}
        step = hidden["x"] * hidden["scale"]  # break here
        return (
            step
            + hidden["missing"]["key"]
        )  # fmt: skip


def main():
    model = Model()
    return model.forward(3)
