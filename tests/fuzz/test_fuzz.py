"""The short form of the fuzzing: a fixed seed and few mutants; and the tools of the long form."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from xtab.analysis.verify import CodeParts, verify_parts
from xtab.format.opcodes import CURRENT, shared

HERE = Path(__file__).parent
MUTANTS = 400
#: opcodes that no text compiles to on a later version, or only at the prompt
NOT_COMPILED = {"EXTENDED_ARG", "PRINT_EXPR", "SETUP_ANNOTATIONS", *shared.GENERATED_AT_RUN_TIME}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def test_short_form(tmp_path):
    """Nothing that the verifier accepts crashes, some is accepted, and what is rejected is so for the right reason."""
    command = [sys.executable, str(HERE / "fuzz.py"), "--seed", "1", "--mutants", str(MUTANTS), "--library", "60"]
    options = ["--findings", str(tmp_path / "findings"), "--results", str(tmp_path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=600)
    texts = [path.read_text() for path in (tmp_path / "findings").glob("*.txt")]
    assert done.returncode == 0, "\n".join([done.stdout, done.stderr, *texts])
    (path,) = tmp_path.glob("*.json")
    found = json.loads(path.read_text())
    assert found["counts"]["run"] == found["counts"]["accepted"] > MUTANTS / 20
    assert found["counts"].get("seeds rejected", 0) == 0
    assert found["wrong"] == []


@pytest.mark.pure
def test_what_breaks_one_thing_is_rejected_by_its_group(tools):
    corpus, mutate, mutation = tools("corpus"), tools("mutate"), tools("mutation")
    verifier = tools("trees").Verifier(verify_parts)
    rng = random.Random(0)
    seeds = [seed for seed in corpus.corpus(rng, 0).seeds if not verifier.errors(seed.tree)]
    for kind in mutation.MUTATIONS.values():
        if kind.group is None:
            continue
        rng.shuffle(seeds)
        made = filter(None, (mutate.mutant_of(rng, seed, kind) for seed in seeds))
        for mutant in islice(made, 8):
            groups = {f"{problem.code[2]}xx" for problem in verifier.errors(mutant.tree)}
            assert kind.group in groups, f"{kind.name} of {mutant.seed}: {groups}"


def crashing():
    """An attribute of NULL: a crash in any build of any version."""
    code = (lambda a: a.b).__code__
    null = bytes([CURRENT.number["PUSH_NULL"], 0])
    begin = code.co_code.index(CURRENT.number["LOAD_ATTR"], 2) - 2
    return CodeParts.of(code)._replace(code=code.co_code[:begin] + null + code.co_code[begin + 2 :], filename="<fuzz>")


def test_a_crash_is_noticed_and_kept(tools, tmp_path):
    runner, findings, minimise = tools("runner"), tools("findings"), tools("minimise")
    tree = crashing()
    assert any(problem.severity == "error" for problem in verify_parts(tree))
    honest = CodeParts.of(lambda a: a.b)
    with runner.Runner() as child:
        outcome = child.run(tree, 1)
        assert outcome.is_hole, outcome
        assert outcome.word in ("SIGSEGV", "SIGABRT")
        assert child.run(honest, 1).word == "ok", "expected the child to go on after a crash"
    finding = findings.of(tree, 1, "3.x", "by hand", outcome)
    text = findings.save(tmp_path, finding, "one").read_text()
    assert "PUSH_NULL" in text
    assert "LOAD_ATTR" in text
    assert findings.load(tmp_path / "one.marshal") == finding
    with runner.Runner() as child:  # with a verifier that finds nothing wrong
        small = minimise.Minimiser(finding, child, 1, lambda parts: ()).smallest(20)
    assert len(small.code) <= len(tree.code)
    assert small.linetable == b""


def test_an_endless_loop_is_a_timeout(tools):
    def forever(a):
        while True:
            pass

    with tools("runner").Runner() as child:
        assert child.run(CodeParts.of(forever)._replace(filename="<fuzz>"), 1).word == "timeout"


def test_a_leaked_exception_is_noticed(tools):
    def leaks(a):
        try:
            raise ValueError
        except ValueError:
            return 1

    parts = CodeParts.of(leaks)
    pop = bytes([CURRENT.number["POP_EXCEPT"], 0])
    begin = parts.code.index(pop)
    broken = parts._replace(code=parts.code[:begin] + bytes([CURRENT.number["POP_TOP"], 0]) + parts.code[begin + 2 :])
    with tools("runner").Runner() as child:
        assert child.run(parts, 1).word == "ok"
        assert child.run(broken, 1).word == "leak"


def test_the_seeds_use_every_opcode(tools):
    corpus, units, trees = tools("corpus"), tools("units"), tools("trees")
    seeds = corpus.corpus(random.Random(0), 0).seeds
    names = {unit.name for seed in seeds for each in trees.nested(seed.tree) for unit in units.read_units(each.code)}
    assert set(CURRENT.number) - names <= NOT_COMPILED


def test_the_same_seed_gives_the_same_mutants(tools):
    corpus, mutate = tools("corpus"), tools("mutate")

    def made():
        rng = random.Random(3)
        given = corpus.corpus(rng, 10)
        return [mutate.mutant(rng, given) for _ in range(150)]

    assert made() == made()


def test_a_tree_survives_the_journey(tools):
    corpus, trees, units = tools("corpus"), tools("trees"), tools("units")
    for seed in corpus.corpus(random.Random(0), 5).seeds:
        assert trees.unpack(trees.pack(seed.tree)) == seed.tree
        assert b"".join(units.write_unit(unit.opcode, unit.arg) for unit in units.read_units(seed.tree.code)) == (
            seed.tree.code
        )
        assert units.write_entries(units.entries_of(seed.tree), raw=True) == seed.tree.exceptiontable


def test_arbitrary_bytes_are_verified_in_bounded_steps(tools):
    accepted, wrong = tools("arbitrary").check(1, 1500)
    assert wrong == []
    assert accepted


def test_the_table_sums_up_the_runs_of_a_python(tools):
    report = tools("report")
    counts = {"mutants": 5, "accepted": 2, "run": 2, "seeds": 9, "rejected 1xx": 1000}
    documents = [{"python": "3.14.1", "counts": counts}] * 2 + [{"python": "3.9.1 debug", "counts": {"holes": 1}}]
    first, second = report.table(documents).splitlines()[2:]
    assert first == "| 3.14.1 | 2 | 10 | 4 | 4 | 0 | 0 | 0 | 2,000 | 0 | 0 | 0 | 0 | 0 |"
    assert second.startswith("| 3.9.1 debug | 1 | 0 |")
