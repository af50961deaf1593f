"""`template`: the instructions of a Python function, ready to be put into another body.

1. The function is decoded. Globals and builtins become constants (`embedding`).
2. Parameters, and all other locals, become fresh locals of the target, one for each slot of the function's frame.
   Where the frame would hold a cell, the fresh local holds a cell object, so that each run of the code has new ones
   (`_Insertion._translated`).
3. What stands before the first RESUME is dropped; parameters are bound instead; returns become jumps to the end.
4. At the end the fresh locals are unbound, and in a handler around all of it too, so that nothing is kept alive.
5. Recorded depths of spans count from the bottom of the function's own frame. They are left to assembly; where that
   would find another one, a NOP in the span, put where the stack is as deep as it must be, sets it right
   (`_forget_depths`).
"""

from __future__ import annotations

from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from xtab.errors import XtabError
from xtab.format.code import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from xtab.format.opcodes import CURRENT, OperandKind
from xtab.model.arguments import require
from xtab.model.decode import decode
from xtab.model.instruction import Instruction, Span
from xtab.model.spans import chain_of
from xtab.model.stack import stack_depths
from xtab.model.tables import Free
from xtab.transform import emit
from xtab.transform.arguments import require_body
from xtab.transform.embedding import embed_names
from xtab.transform.moves import taken_and_made
from xtab.transform.runs import is_return
from xtab.transform.sequences import become, copies, put_behind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xtab.model.body import Body

__all__ = ["Local", "Template", "template"]

_REFUSED = {
    CO_ASYNC_GENERATOR: "an async generator function, which yields",
    CO_GENERATOR: "a generator function, which yields",
    CO_COROUTINE: "a coroutine function, which awaits",
    CO_VARARGS: "which takes *args",
    CO_VARKEYWORDS: "which takes **kwargs",
}


class Local(NamedTuple):
    """A variable of the target body, to bind a parameter of a template to: the template reads it, and may set it."""

    name: str


def template(function: FunctionType, /, **bindings: Any) -> Template:
    """Take the code of a Python function as a template for code in other bodies.

    Args:
        function: a plain function: no generator, no coroutine, no ``*args`` or ``**kwargs``.
        bindings: for each parameter: a constant; a `Local`, a variable of the body that the code will be put into; or
            an operand, a list of instructions that leaves one value, evaluated once when the template begins.
            Parameters with a default may be left out.

    Raises:
        XtabError: it is no such function, or a parameter is left out or not one of it.

    >>> import xtab
    >>> def note(seen, values):
    ...     for each in values:
    ...         seen.append(each)
    >>> def f(x):
    ...     return x
    >>> seen = []
    >>> body = xtab.decode(f)
    >>> code = template(note, seen=seen, values=Local("x")).instructions(body, result="drop")
    >>> body.insert_after(body.instructions[0], code)
    >>> f.__code__ = xtab.assemble(body)
    >>> f("ab"), seen
    ('ab', ['a', 'b'])
    """
    if not isinstance(function, FunctionType):
        raise XtabError(f"expected a Python function as a template, but found {function!r}")
    code, name = function.__code__, function.__qualname__
    for flag, words in _REFUSED.items():
        if code.co_flags & flag:
            raise XtabError(f"expected a plain function as a template, but found {name}, {words}")
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = parameters[: code.co_argcount]
    defaults = function.__defaults__ or ()
    given = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    given |= (function.__kwdefaults__ or {}) | bindings
    for wrong in bindings.keys() - set(parameters):
        raise XtabError(f"expected bindings for the parameters {', '.join(parameters)} of {name}, but found {wrong!r}")
    for left_out in [each for each in parameters if each not in given]:
        raise XtabError(f"expected a binding for each parameter of {name}, but found none for {left_out!r}")
    for parameter, value in given.items():
        _require_binding(parameter, value)
    return Template(function, {each: given[each] for each in parameters})


def _require_binding(parameter: str, value: Any) -> None:
    """No constant that was meant as something else."""
    if isinstance(value, Instruction):
        raise XtabError(f"expected a list of instructions for {parameter}, but found {value!r}: write [instruction]")
    if isinstance(value, Local):
        require(value.name, str, f"a Local with the name of a variable for {parameter}")


class Template:
    """A function's code with its parameters bound: see :func:`template`."""

    def __init__(self, function: FunctionType, bindings: Mapping[str, Any]) -> None:
        self.function = function  #: where the code comes from
        self.bindings = dict(bindings)  #: parameter -> what it is bound to

    def instructions(
        self,
        body: Body,
        *,
        result: Literal["keep", "drop"] = "keep",
        names: Literal["embed", "lookup"] = "embed",
        locations: Literal["anchor", "template"] = "anchor",
    ) -> list[Instruction]:
        """New instructions that do what the function does, for a place in a body; each call makes new ones.

        Args:
            body: where they will be put: fresh locals are named for it.
            result: ``"keep"``: what the function returns is left on the stack; ``"drop"``: it isn't.
            names: ``"embed"``: globals, builtins and outer variables are looked up now, where the function would, and
                become constants; ``"lookup"``: globals are looked up by name when the code runs, in the module of the
                body, and the code can be cached on disk.
            locations: ``"anchor"``: instructions have no location, and get that of the place where they are put;
                ``"template"``: they have those of the function's source.

        Raises:
            XtabError: a global of the function isn't defined, or the function sets one; it has outer variables, with
                names="lookup"; or a `Local` is no variable of the body, or of a kind that can't be used as the function
                does.

        >>> import xtab
        >>> body = xtab.decode(lambda: None)
        >>> template(lambda x: x, x=1).instructions(body)
        [Instruction('LOAD_CONST', 1), Instruction('NOP')]
        """
        for word, allowed in (
            (result, ("keep", "drop")),
            (names, ("embed", "lookup")),
            (locations, ("anchor", "template")),
        ):
            if word not in allowed:
                raise XtabError(f"expected {' or '.join(map(repr, allowed))}, but found {word!r}")
        require_body(body)
        code = _Insertion(self, body, embed=names == "embed").code(keep=result == "keep")
        if locations == "anchor":
            for each in code:
                each.location = None
        return code


class _Insertion:
    """One use of a template."""

    def __init__(self, template: Template, target: Body, *, embed: bool) -> None:
        self._function = function = template.function
        self._bindings = template.bindings
        self._target = target
        self._embed = embed
        self._source = decode(function)
        if function.__closure__ and not embed:
            outer = function.__code__.co_freevars[0]
            raise self._refused(f"its outer variable {outer!r}, for which names='lookup' has no place")
        if embed:
            embed_names(self._source, function)
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self._fresh: dict[str, str] = {}  # variable of the function -> fresh local of the target
        instructions = self._source.instructions
        self._begin = 1 + next(place for place, each in enumerate(instructions) if each.opname == "RESUME")
        prologue, rest = instructions[: self._begin], instructions[self._begin :]
        self._in_cells = [str(each.operand) for each in prologue if each.opname == "MAKE_CELL"]
        #: variables that are set, or whose slot is used in another way than to read the value
        self._set = {*self._in_cells, *(name for each in rest if not _only_reads(each) for name in _variables(each))}

    def _refused(self, found: str) -> XtabError:
        return XtabError(f"expected {self._function.__qualname__} to be a function for templates, but found {found}")

    def code(self, *, keep: bool) -> list[Instruction]:
        """All of it."""
        _forget_depths(self._source)
        instructions = self._source.instructions
        first = instructions.index(next(each for each in instructions if each.opname == "RESUME")) + 1
        end = Instruction("NOP")
        behind: dict[Instruction, list[Instruction]] = {}
        for each in instructions[first:]:
            new = self._translated(each, end)
            if new is not None:
                become(each, new[0])
                behind[each] = new[1:]
        inside = put_behind(instructions[first:], behind)
        _drop_last_jump(inside, end)
        begin = self._begin_with_parameters()
        unbind = self._unbind()
        ending = [end, *([] if keep else emit.pop()), *unbind]
        code = copies([*begin, *inside, *ending])
        if not unbind:
            return code
        handler = [*self._unbind(), Instruction("RERAISE", 1)]
        guard = Span(handler[0], None, True)
        for each in code[: len(begin) + len(inside)]:
            spans = chain_of(each.exn_tab_entry)
            if not spans:
                each.exn_tab_entry = guard
            elif guard not in spans:
                spans[-1].outer = guard
        last = Instruction("NOP")
        return [*code, Instruction("JUMP_FORWARD", last), *handler, last]

    # variables

    def _local(self, name: str) -> str:
        """The fresh local that stands for a variable of the function."""
        if name not in self._fresh:
            self._fresh[name] = self._target.fresh_local(name.strip(".<>"))
        return self._fresh[name]

    def _shared(self, name: str) -> Local | None:
        """The variable of the target that a parameter is bound to, if the function uses it as such."""
        bound = self._bindings.get(name)
        return bound if isinstance(bound, Local) and name not in self._in_cells else None

    def _is_constant(self, name: str) -> bool:
        """Whether a variable is a parameter that always has the constant that it is bound to."""
        return name in self._bindings and name not in self._set and not _is_bound_to_code(self._bindings[name])

    def _begin_with_parameters(self) -> list[Instruction]:
        """Bind the parameters, and make the cells."""
        begin: list[Instruction] = []
        for name, value in self._bindings.items():
            if self._shared(name) is not None or self._is_constant(name):
                continue
            if isinstance(value, Local):
                load = self._of_target(value, "LOAD")
            else:
                load = copies(value) if _is_operand(value) else emit.load_const(value)
            begin += load if name not in self._in_cells else self._new_cell(load)
            begin += emit.store_local(self._local(name))
        for name in self._in_cells:
            if name not in self._bindings:
                begin += [*self._new_cell(), *emit.store_local(self._local(name))]
        return begin

    def _new_cell(self, *contents: list[Instruction]) -> list[Instruction]:
        make = emit.load_const(CellType) if self._embed else emit.load_import("types", "CellType")
        return emit.call(make, *contents)

    def _unbind(self) -> list[Instruction]:
        names = self._fresh.values()
        return [
            each
            for name in names
            for each in (*emit.load_const(None), *emit.store_local(name), *emit.delete_local(name))
        ]

    def _of_target(self, variable: Local, verb: str) -> list[Instruction]:
        """Load, store or delete a variable of the target."""
        body, name = self._target, variable.name
        if not body.flags & CO_OPTIMIZED:
            return [Instruction(f"{verb}_NAME", name)]
        for kind, variables in (("cell", body.cellvars), ("free", body.freevars)):
            if name in variables:
                return getattr(emit, f"{verb.lower()}_{kind}")(name)  # type: ignore[no-any-return]
        if name not in body.varnames:
            raise XtabError(f"expected a variable of {body.qualname} for a parameter, but found {name!r}")
        return emit.load_local(name, check=True) if verb == "LOAD" else [Instruction(f"{verb}_FAST", name)]

    # instructions

    def _translated(self, instruction: Instruction, end: Instruction) -> list[Instruction] | None:
        """What does the same in the target; None for an instruction that can stay as it is."""
        opname, operand = instruction.opname, instruction.operand
        if is_return(instruction):
            value = emit.load_const(operand) if opname == "RETURN_CONST" else []
            return [*value, Instruction("JUMP_FORWARD", end)]
        kind = CURRENT.kind[instruction.opcode]
        if kind == OperandKind.LOCAL_PAIR:
            verbs = [verb for verb in opname.split("_") if verb in ("LOAD", "STORE")]
            return [
                each for verb, name in zip(verbs, operand, strict=True) for each in self._fast(f"{verb}_FAST", name)
            ]
        if kind == OperandKind.LOCAL:
            return self._fast(opname, operand)
        if opname in ("LOAD_CLOSURE", "MAKE_CELL"):
            return self._cell(operand) if opname == "LOAD_CLOSURE" else self._made_cell(operand)
        if kind == OperandKind.CELL:
            return self._through_cell(opname.partition("_")[0], operand)
        return None

    def _fast(self, opname: str, name: str) -> list[Instruction]:
        """What an instruction does to a slot of the frame."""
        if isinstance(name, Free):
            return self._cell(name)
        name = str(name)
        if self._is_constant(name):
            return emit.load_const(self._bindings[name])
        shared = self._shared(name)
        if opname == "LOAD_FAST_BORROW":
            opname = "LOAD_FAST"
        if shared is None:
            return [Instruction(opname, self._local(name))]
        if opname != "LOAD_FAST_AND_CLEAR":
            return self._of_target(shared, opname.partition("_")[0])
        if self._of_target(shared, "STORE")[0].opname != "STORE_FAST":
            raise self._refused(f"a comprehension that uses {name!r}, which is bound to {shared!r}, no plain local")
        return [Instruction(opname, shared.name)]

    def _cell(self, name: str) -> list[Instruction]:
        """Load the cell of a variable."""
        if isinstance(name, Free):
            return emit.load_const(self._cells[name])
        return emit.load_local(self._local(str(name)))

    def _made_cell(self, name: str) -> list[Instruction]:
        """Put an empty cell into a slot, as comprehensions do for their variables."""
        return [*self._new_cell(), *emit.store_local(self._local(str(name)))]

    def _through_cell(self, verb: str, name: str) -> list[Instruction]:
        """Load, store or delete the contents of a cell."""
        if verb == "LOAD" and isinstance(name, Free) and name not in self._set:
            try:
                return emit.load_const(self._cells[name].cell_contents)
            except ValueError:
                raise self._refused(f"its outer variable {name!r}, which isn't bound yet") from None
        return [*self._cell(name), Instruction(f"{verb}_ATTR", "cell_contents")]


def _is_operand(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Instruction) for each in value)


def _is_bound_to_code(value: Any) -> bool:
    return isinstance(value, Local) or _is_operand(value)


def _variables(instruction: Instruction) -> tuple[str, ...]:
    """The names of the variables that an instruction names."""
    kind, operand = CURRENT.kind[instruction.opcode], instruction.operand
    if kind == OperandKind.LOCAL_PAIR:
        return tuple(map(str, operand))
    return (str(operand),) if kind in (OperandKind.LOCAL, OperandKind.CELL) else ()


def _only_reads(instruction: Instruction) -> bool:
    name = instruction.opname
    return name.startswith("LOAD_") and "CLEAR" not in name


def _drop_last_jump(instructions: list[Instruction], end: Instruction) -> None:
    """Leave out the jump at the end that leads to what stands right behind."""
    last = instructions[-1]
    if last.target is end and last.exn_tab_entry is None:
        for each in instructions:
            if each.target is last:
                each.target = end
        instructions.pop()


def _forget_depths(body: Body) -> None:
    """Leave the depths of all spans to assembly, and see to it that it finds the ones recorded."""
    depths = dict(zip(body.instructions, stack_depths(body), strict=True))
    least: dict[Span, int] = {}
    for each, depth in depths.items():
        if depth is not None:
            left = depth - (0 if CURRENT.cannot_raise[each.opcode] else taken_and_made(each)[0])
            for span in chain_of(each.exn_tab_entry):
                least[span] = min(least.get(span, left), left)
    free = set(body.insertion_points(jumps="stay"))
    for span, left in least.items():
        if span.depth is not None and left != span.depth:
            place = next((each for each in body.instructions if each in free and depths[each] == span.depth), None)
            if place is None:
                raise XtabError(f"expected a place where the stack is {span.depth} deep, for {span!r}, but found none")
            body.insert_before(place, [Instruction("NOP", exn_tab_entry=span)], jumps="stay")
            free.discard(place)
        span.depth = None
