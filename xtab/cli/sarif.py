"""Problems as SARIF 2.1.0, the format in which code scanning takes the results of tools.

Follows the OASIS standard, https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. A result is told apart
from others over time by its partial fingerprint: rule, file, code object and instruction, and which one it is of those
that agree in that; neither lines nor offsets, which change with whatever stands before them.
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import xtab
from xtab.analysis.verify import GROUPS, RULES
from xtab.cli.places import source_uri

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xtab.analysis.verify import Problem, Rule

__all__ = ["sarif_document"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_INDEX = {code: index for index, code in enumerate(RULES)}


def sarif_document(
    problems: Iterable[tuple[Problem, str]], unusable: Iterable[tuple[str, str]] = (), *, complete: bool = True
) -> str:
    """The document.

    Args:
        problems: each with the file that was read; a problem may name the source that it was made from.
        unusable: files that could not be read, and why.
        complete: whether all files were looked at.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    notes = [
        {"level": "error", "message": {"text": text}, "locations": [_location(file, None)]} for file, text in unusable
    ]
    run = {
        "tool": {"driver": {"name": "xtab", "version": xtab.__version__, "rules": list(map(_rule, RULES.values()))}},
        "invocations": [{"executionSuccessful": complete and not notes, "toolExecutionNotifications": notes}],
        "results": [_result(problem, problem.filename or file, seen) for problem, file in problems],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": _sentence(rule.summary)},
        "help": {"text": f"xtab explain {rule.code}"},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [GROUPS[rule.group].partition(":")[0]]},
    }


def _sentence(text: str) -> str:
    """With a capital and a full stop; a name such as co_flags stays as it is."""
    return f"{text if '_' in text.partition(' ')[0] else text[0].upper() + text[1:]}."


def _result(problem: Problem, file: str, seen: Counter[tuple[str, ...]]) -> dict[str, Any]:
    identity = problem.code, source_uri(file), problem.qualname, problem.opname or ""
    seen[identity] += 1
    fingerprint = sha256("\0".join((*identity, str(seen[identity]))).encode("utf-8", "replace")).hexdigest()
    facts = {"offset": problem.offset, "opname": problem.opname, "hint": problem.hint or None}
    return {
        "ruleId": problem.code,
        "ruleIndex": _INDEX[problem.code],
        "level": problem.severity,
        "message": {"text": f"{problem.place}: {problem.message}"},
        "locations": [_location(file, problem.line, problem.qualname)],
        "partialFingerprints": {"xtabProblem/v1": fingerprint},
        "properties": {name: value for name, value in facts.items() if value is not None},
    }


def _location(file: str, line: int | None, qualname: str = "") -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": source_uri(file)}}
    if line is not None and line >= 1:
        physical["region"] = {"startLine": line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if qualname:
        location["logicalLocations"] = [{"fullyQualifiedName": qualname, "kind": "function"}]
    return location
