"""Change code objects at random, and run what the verifier accepts: none of it may crash the interpreter.

The same seed gives the same mutants on the same Python. Mutants that ended badly are written to the folder of findings,
and a line of counts into the file of results. The exit code is 1 if there is a hole.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import findings
from corpus import Corpus, corpus
from mutate import mutant
from runner import Outcome, Runner, describe
from trees import Verifier

from xtab.analysis.verify import verify_parts

if TYPE_CHECKING:
    from mutate import Mutant

CACHE = Path(os.environ.get("XTAB_FUZZ_CACHE") or "~/.cache/xtab-fuzz").expanduser()
SLOW = 5.0  #: seconds that verifying a mutant never takes


class Fuzz:
    """One run: what was given, what was found."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rng = random.Random(options.seed)
        self.corpus: Corpus = corpus(self.rng, options.library)
        self.verifier = Verifier(verify_parts)
        self.python = describe(options.run_with)
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.accepted_kinds: Counter[str] = Counter()
        self.signatures: Counter[str] = Counter()
        self.wrong: list[str] = []  #: rejected for another reason than the one there was
        for seed in self.corpus.seeds:
            self.counts["seeds"] += 1
            self.verifier.keep(seed.tree)
            if self.verifier.errors(seed.tree):
                self.counts["seeds rejected"] += 1

    def run(self) -> None:
        """Make, verify and run mutants until there are enough, or time is up."""
        started = last = time.monotonic()
        with Runner(self.options.run_with) as runner:
            while self.counts["mutants"] < self.options.mutants:
                one = mutant(self.rng, self.corpus)
                if one is not None:
                    self.try_one(one, runner)
                now = time.monotonic()
                if now - last > self.options.progress:
                    last = now
                    say(f"{self.python} {self.line()}, {self.counts['mutants'] / (now - started):.0f}/s")
                if self.options.minutes and now - started > 60 * self.options.minutes:
                    break
        self.counts["seconds"] = round(time.monotonic() - started)

    def try_one(self, one: Mutant, runner: Runner) -> None:
        """Verify a mutant, and run it if it is accepted."""
        run_seed = self.rng.randrange(1 << 30)
        self.counts["mutants"] += 1
        self.kinds[one.kind] += 1
        started = time.monotonic()
        try:
            errors = self.verifier.errors(one.tree)
        except Exception as error:  # it must not raise, whatever it gets
            self.hole(one, run_seed, Outcome("verifier", f"{type(error).__name__}: {error}", 0))
            return
        if time.monotonic() - started > SLOW:
            self.hole(one, run_seed, Outcome("slow verifier", "", 0))
        if errors and one.kind == "generated":
            del self.corpus.made[:1]  # mutants of it would be rejected for what was wrong before
        groups = {f"{problem.code[2]}xx" for problem in errors}
        for group in groups:
            self.counts[f"rejected {group}"] += 1
        if one.group is not None and one.group not in groups:
            self.wrong.append(f"{one.kind} of {one.seed}: expected {one.group}, but found {[*map(str, errors)]}")
        if not errors:
            self.counts["accepted"] += 1
            self.accepted_kinds[one.kind] += 1
            if self.rng.random() < self.options.share:
                self.judge(one, run_seed, runner.run(one.tree, run_seed))

    def judge(self, one: Mutant, run_seed: int, outcome: Outcome) -> None:
        """Count an outcome, and keep a bad one."""
        self.counts["run"] += 1
        if outcome.word in ("timeout", "hang"):
            self.counts[f"{outcome.word}s"] += 1
        if outcome.is_hole or outcome.word in ("hang", "failed"):
            self.hole(one, run_seed, outcome)

    def hole(self, one: Mutant, run_seed: int, outcome: Outcome) -> None:
        """Write a finding, unless there are many with the same signature already."""
        finding = findings.of(one.tree, run_seed, self.python, one.kind, outcome)
        signature = findings.signature(outcome.word, outcome.stderr)
        self.signatures[signature] += 1
        self.counts["holes" if outcome.word != "hang" else "hangs kept"] += 1
        if self.signatures[signature] <= self.options.keep:
            name = f"{self.python.replace(' ', '-')}-{self.options.seed}-{self.counts['mutants']}"
            path = findings.save(self.options.findings, finding, name)
            say(f"{outcome.word} ({one.kind}): {signature}: {path}")

    def line(self) -> str:
        """The counts so far."""
        words = ("mutants", "accepted", "run", "timeouts", "hangs", "holes")
        return ", ".join(f"{self.counts[word]} {word}" for word in words)

    def summary(self) -> dict[str, Any]:
        """What the file of results keeps."""
        return {
            "python": self.python, "seed": self.options.seed, "counts": dict(sorted(self.counts.items())),
            "signatures": dict(self.signatures.most_common()), "wrong": self.wrong[:20],
        }  # fmt: skip


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long [never]")
    parser.add_argument(
        "--run-with", default=sys.executable, metavar="PYTHON", help="of the same version; a debug build"
    )
    parser.add_argument("--library", type=int, default=200, help="seeds from the standard library's tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes, with a seed each")
    parser.add_argument("--findings", type=Path, default=CACHE / "findings", metavar="DIR")
    parser.add_argument("--results", type=Path, default=CACHE / "results", metavar="DIR")
    parser.add_argument("--keep", type=int, default=3, help="findings written for the same signature")
    parser.add_argument("--progress", type=float, default=15, help="seconds between lines of progress")
    parser.add_argument("--share", type=float, default=1, help="of the accepted mutants, how many to run [all]")
    parser.add_argument("--kinds", action="store_true", help="show how many mutants of each kind were accepted")
    return parser.parse_args(argv)


def in_parallel(options: argparse.Namespace) -> int:
    """Start a process for each seed, with the same options."""
    rest = [each for each in sys.argv[1:] if not each.startswith("--jobs=")]
    if "--jobs" in rest:
        del rest[rest.index("--jobs") : rest.index("--jobs") + 2]
    commands = [
        [sys.executable, __file__, *rest, "--jobs", "1", "--seed", str(options.seed + number)]
        for number in range(options.jobs)
    ]
    processes = [subprocess.Popen(command) for command in commands]
    return max(process.wait() for process in processes)


def main(argv: list[str] | None = None) -> int:
    """Run, and write what was found."""
    options = parse(argv)
    if options.jobs > 1:
        return in_parallel(options)
    fuzz = Fuzz(options)
    fuzz.run()
    options.results.mkdir(parents=True, exist_ok=True)
    name = f"{fuzz.python.replace(' ', '-')}-{options.seed}.json"
    (options.results / name).write_text(json.dumps(fuzz.summary(), indent=1), encoding="utf-8")
    if options.kinds:
        for kind, count in fuzz.kinds.most_common():
            say(f"{count:6} {fuzz.accepted_kinds[kind]:6} {kind}")
    groups = ", ".join(
        f"{word[9:]} {count}" for word, count in sorted(fuzz.counts.items()) if word.startswith("rejected")
    )
    say(f"{fuzz.python}: {fuzz.line()}; rejected by {groups}; {fuzz.counts['seconds']} s")
    say(f"seeds rejected: {fuzz.counts['seeds rejected']} of {fuzz.counts['seeds']}")
    for signature, count in fuzz.signatures.most_common():
        say(f"{count:6} x {signature}")
    for text in fuzz.wrong[:10]:
        say(f"wrong group: {text}")
    return 1 if fuzz.counts["holes"] else 0


if __name__ == "__main__":
    sys.exit(main())
