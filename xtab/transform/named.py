"""A transform has a name, ``package.module:qualname``: `load_transform` finds it, `transform_name` gives it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from xtab.errors import XtabError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["load_transform", "transform_name"]


def transform_name(transform: Callable[..., Any]) -> str:
    """The name of a transform; for an object without one, such as a partial, that of its type.

    >>> transform_name(load_transform)
    'xtab.transform.named:load_transform'
    """
    named = transform if hasattr(transform, "__qualname__") else type(transform)
    return f"{named.__module__}:{named.__qualname__}"


def load_transform(name: str) -> Callable[..., Any]:
    """Import the module of a transform and find it there.

    Args:
        name: ``package.module:qualname``.

    Raises:
        XtabError: the name has no such form, there is no such module, nothing of that name in it, or it isn't callable.
            What the module itself raises comes through.

    >>> load_transform("xtab:decode").__name__
    'decode'
    """
    module_name, colon, qualname = name.partition(":")
    if not (colon and module_name and qualname):
        raise XtabError(f"expected a transform as package.module:name, but found {name!r}")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise XtabError(f"expected a module with the transform {name}, but found no module {error.name!r}") from None
    for part in qualname.split("."):
        if not hasattr(found, part):
            raise XtabError(f"expected the transform {qualname} in {module_name}, but found no {part!r}")
        found = getattr(found, part)
    if not callable(found):
        raise XtabError(f"expected {name} to be callable, but found {found!r:.80}")
    return found  # type: ignore[no-any-return]
