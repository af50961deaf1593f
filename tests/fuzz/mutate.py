"""Chooses what to change: a seed, the code object in it, one mutation or two; the `rng` decides everything."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import breaking  # noqa: F401  # the four enter their mutations into the list
import gentle
import modelled
import wild  # noqa: F401
from corpus import seed_of
from generate import generated
from mutation import MUTATIONS, Mutation, Subject
from trees import Tree, nested, with_nested

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from corpus import Corpus, Seed

AIMED = [each for each in MUTATIONS.values() if each.apply.__module__ in (gentle.__name__, modelled.__name__)]
OTHERS = [each for each in MUTATIONS.values() if each not in AIMED]


DULL = frozenset("stack_larger nops_everywhere names_changed collector_flag constant_replaced flag_bit".split())
"""Kinds whose results are mostly right, for no interesting reason: they are chosen seldom."""


def choose(rng: random.Random, kinds: Sequence[Mutation]) -> Mutation:
    """One of some mutations."""
    return rng.choices(kinds, [0.2 if each.name in DULL else 1 for each in kinds])[0]


MOST_MADE = 50
"""So many generated bodies are kept to be mutated."""


class Mutant(NamedTuple):
    """A tree that nobody compiled."""

    tree: Tree
    kind: str  #: the mutations that made it, joined by "+"
    seed: str  #: the name of what it was made from
    group: str | None  #: the group of rules that must reject it, if there is one for certain


def mutant_of(rng: random.Random, seed: Seed, mutation: Mutation | None = None) -> Mutant | None:
    """One mutant of a seed, or None if the mutation that was chosen finds nothing to do."""
    chosen = mutation or choose(rng, AIMED if rng.random() < 0.75 else OTHERS)
    tree = chosen.apply(rng, Subject(*seed[1:]))
    if tree is None or tree == seed.tree:
        return None
    if mutation is None and rng.random() < 0.2:
        second = choose(rng, AIMED)
        twice = None
        with suppress(ValueError, IndexError):  # what is broken already may be too much for it
            twice = second.apply(rng, Subject(tree, seed.depths if len(tree.code) == len(seed.tree.code) else {}, None))
        if twice is not None:
            return Mutant(twice, f"{chosen.name}+{second.name}", seed.name, None)
    return Mutant(tree, chosen.name, seed.name, chosen.group)


def mutant(rng: random.Random, corpus: Corpus) -> Mutant | None:
    """One mutant: of a seed, of a code object nested in one, or a generated body, mutated or not."""
    if rng.random() < 0.15:
        made = corpus.made
        if made and rng.random() < 0.9:  # making one takes as long as ten mutants do
            return mutant_of(rng, rng.choice(made))
        code = generated(rng)
        if code is None:
            return None
        seed = seed_of(code)
        made[MOST_MADE - 1 :] = []
        made.insert(0, seed)
        return Mutant(seed.tree, "generated", "generated", None)
    seed = rng.choice(corpus.seeds)
    inner = [each for each in nested(seed.tree) if each is not seed.tree]
    if not inner or len(inner) > 3 or rng.random() < 0.6:
        return mutant_of(rng, seed)
    chosen = rng.choice(inner)
    own = corpus.find(chosen)
    made = mutant_of(rng, own) if own else None
    if made is None:
        return None
    tree = with_nested(seed.tree, chosen, made.tree)
    return made._replace(tree=tree, kind=f"nested {made.kind}", seed=seed.name, group=None)
