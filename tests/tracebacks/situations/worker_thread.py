"""An error in a worker thread, which the main thread raises again."""

from __future__ import annotations

import threading


def work(caught):
    try:
        probe()
        caught["result"] = caught["input"] / 0
    except ZeroDivisionError as error:
        caught["error"] = error


def uncaught():
    return {}["nothing"]


def main():
    caught = {"input": 1}
    for target, args in ((work, (caught,)), (uncaught, ())):
        thread = threading.Thread(target=target, args=args, name=f"{target.__name__} thread")
        thread.start()
        thread.join()
    raise caught["error"]  # break here
