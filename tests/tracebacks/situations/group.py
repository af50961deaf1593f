"""An exception group, one member of which was caught."""

from __future__ import annotations


def task(number):
    return 1 // number


def main():
    errors = []
    probe()
    for number in (0, "one", 2):
        try:
            task(number)  # break here
        except Exception as error:
            errors.append(error)
    try:
        raise ExceptionGroup("tasks", [*errors, ExceptionGroup("inner", [OSError("disk")])])
    except* OSError:
        pass
