"""What the page is looked at with: some 50 lines with nested try, with and finally."""

from __future__ import annotations

import json
import os


def load_all(paths, fallback, log):
    """Read several files; what can't be read is told, and all is closed."""
    found = {}
    failed = []
    lock = log.lock()
    try:
        for path in paths:
            try:
                with open(path) as file:
                    text = file.read()
                    if not text:
                        continue
                    found[path] = json.loads(text)
            except OSError as error:
                failed.append((path, error))
                if error.errno == 2:
                    log.warning("no such file: %s", path)
                else:
                    raise
            except ValueError:
                log.warning("not JSON: %s", path)
                with lock, log.section(path) as part:
                    part.write(text[:80])
            else:
                log.info("read %s", path)
        if failed and not found:
            try:
                with open(fallback) as file:
                    found[fallback] = json.load(file)
            finally:
                log.flush()
    except KeyboardInterrupt:
        log.warning("stopped by the user")
        found.clear()
    finally:
        for path, error in failed:
            try:
                log.error("%s: %s", path, error)
            except BrokenPipeError:
                break
        lock.release()
        log.close()
    names = [os.path.basename(path) for path in found]
    return dict(zip(names, found.values()))


def small(path):
    """A little of everything."""
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return error
    finally:
        os.sync()


def holder(count):
    """Holds other code."""

    def inner():
        return lambda: count

    return inner
