"""The pages of the verifier's rules: ``XT###.md``, one a code. `xtab explain` and the documentation read them."""

from __future__ import annotations
