"""Reads what in a Python source could make a check pass without the work. Executes nothing of it.

Only the standard library: a long source is read by a process of its own, so that the parser never stops the server.
"""

import ast
import json
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

EXITS, ENDS = "can exit with success in the middle of the check", "can end the check's process at once"
KNOWS, CHANGES = "looks at which test runs it", "can change the program that runs the check"
LONG = "takes too long to be looked at"
EQUALS = "has an object that equals everything"
SECONDS = 3
_MEMORY = 1 << 30
_TEST_FILE = re.compile(r"(?:^|/)(?:conftest|test_\w{1,200}|\w{1,200}_test)\.py$")
_RUNNER_MODULES = frozenset({"pytest", "_pytest", "unittest", "doctest"})
_INTERPRETER = frozenset({"os", "sys", "posix", "builtins"})
_PROCESS_ENDS = frozenset({
    "_exit", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe",
})  # fmt: skip
_FRAMES = frozenset({
    "settrace", "setprofile", "_getframe", "currentframe", "extract_stack", "format_stack", "walk_stack", "print_stack",
})  # fmt: skip
_COMPARES = ("__eq__", "__ne__")
_USUALLY_SET = frozenset({"stdout", "stderr", "stdin", "argv", "path", "dont_write_bytecode", "environ", "excepthook"})
_NAMED_LIKE_CHECK = re.compile(r"test|check|spec|__main__")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = tuple[_Function | ast.ClassDef, ...]


class Function(NamedTuple):
    """`is_plain`: nothing but its name leads to it. `in_main`: it is there only if the source runs as a program."""

    id: int
    name: str
    is_plain: bool
    in_main: bool


class ScopeNames(NamedTuple):
    """The names that stand directly in a scope: the functions around it, by their ids."""

    scope: list[int]
    in_main: bool
    names: list[str]


class Sign(NamedTuple):
    """`content` tells it from others, `names` are those by which it is used. `in_function`: it takes effect once a test calls it."""

    how: str
    content: str
    names: list[str]
    scope: list[int]
    in_main: bool
    in_function: bool


class SourceSigns(NamedTuple):
    functions: list[Function]
    mentions: list[ScopeNames]
    signs: list[Sign]


NO_SIGNS = SourceSigns([], [], [])


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    json.dump(signs_in(sys.stdin.buffer.read().decode(errors="replace")), sys.stdout)


def read_signs(output: bytes) -> SourceSigns:
    """Reads what the process wrote."""
    functions, mentions, signs = json.loads(output)  # noqa: TID251  # our own process wrote it
    return SourceSigns([Function(*f) for f in functions], [ScopeNames(*m) for m in mentions], [Sign(*s) for s in signs])


def signs_in(text: str) -> SourceSigns:
    """Returns the signs in a source, and what is needed to tell whether a check reaches them. Blocking, for as long as the text is."""
    try:
        return _signs_of(ast.parse(text))
    except (SyntaxError, ValueError):
        return NO_SIGNS  # it cannot be imported
    except (RecursionError, MemoryError):
        return not_looked_at(text)  # it can: the interpreter does not walk the tree


def not_looked_at(text: str) -> SourceSigns:
    """Returns the one sign of a source that is too long or too deep for this."""
    content = sha256(text.encode(errors="replace")).hexdigest()
    return SourceSigns([], [], [Sign(LONG, content, [], [], in_main=False, in_function=False)])


def _signs_of(tree: ast.Module) -> SourceSigns:
    _resolve_aliases(tree)
    nodes = list(_nodes(tree))
    zeros = frozenset(name for node, _, _ in nodes for name in _names_of_success(node))
    harmless = {id(part) for node, _, _ in nodes for part in _harmless_parts(node)}
    ids = {id(node): number for number, (node, _, _) in enumerate(nodes) if isinstance(node, _Function)}
    functions: list[Function] = []
    mentions: dict[tuple[tuple[int, ...], bool], set[str]] = {}
    signs: list[Sign] = []
    for node, scope, in_main in nodes:
        around = [ids[id(part)] for part in scope if id(part) in ids]
        mentions.setdefault((tuple(around), in_main), set()).update(_mentioned(node))
        if isinstance(node, _Function):
            is_plain = not node.decorator_list and not node.name.startswith("__")
            functions.append(Function(ids[id(node)], node.name, is_plain, in_main))
        if id(node) not in harmless and (how := _sign(node, zeros)):
            names = [*_bound_names(node), *(part.name for part in scope)]
            content = sha256(ast.dump(node).encode(errors="replace")).hexdigest()
            signs.append(Sign(how, content, names, around, in_main, bool(around) or isinstance(node, ast.ClassDef)))
    listed = [ScopeNames([*around], in_main, sorted(names)) for (around, in_main), names in mentions.items()]
    return SourceSigns(functions, listed, signs) if signs else NO_SIGNS


def _resolve_aliases(tree: ast.Module) -> None:
    """Gives modules and functions of the interpreter their own names wherever they are used."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module in _INTERPRETER):
            names = {alias.asname: alias.name for alias in node.names if alias.asname}
            aliases |= {new: name for new, name in names.items() if name in _INTERPRETER or name == "exit"}
    for node in ast.walk(tree) if aliases else ():
        if isinstance(node, ast.Name):
            node.id = aliases.get(node.id, node.id)


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, _Scope, bool]]:
    """Walks the module, each node with the functions and classes around it, and whether it only runs in a program."""
    queue: list[tuple[ast.AST, _Scope, bool]] = [(node, (), False) for node in tree.body]
    while queue:
        node, scope, in_main = queue.pop()
        match node:
            case ast.If(test=ast.Compare(ast.Name(id="__name__"), [ast.Eq()], [ast.Constant(value="__main__")])):
                queue += [(part, scope, in_main) for part in node.orelse]
                queue += [(part, scope, True) for part in node.body]
                continue
            case ast.Expr(value=ast.Constant(value=str())):
                continue  # a docstring
        yield node, scope, in_main
        inner = node.body if isinstance(node, _Function | ast.ClassDef) else []
        own_scope = (*scope, node) if isinstance(node, _Function | ast.ClassDef) else scope
        bodies = {id(part) for part in inner}
        queue += [(part, own_scope if id(part) in bodies else scope, in_main) for part in ast.iter_child_nodes(node)]


def _mentioned(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return (name,)
        case ast.Constant(value=str(text)):
            return re.findall(r"\w+", text[:1_000])
        case ast.Call(func=ast.Name(id="getattr"), args=[_, second, *_]) if not isinstance(second, ast.Constant):
            return ("getmembers",)
    return ()


def _bound_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ClassDef | _Function) and not node.name.startswith("__"):
        yield node.name


def _harmless_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yields uses of `sys.modules` that only look at the module itself, or whether another is loaded."""
    match node:
        case ast.Subscript(value=ast.Attribute() as modules, slice=ast.Name(id="__name__"), ctx=ast.Load()):
            yield modules
        case ast.Compare(ast.Constant(value=str(name)), [ast.In() | ast.NotIn()], [ast.Attribute() as modules]):
            if not _NAMED_LIKE_CHECK.search(name):
                yield modules


def _sign(node: ast.AST, zeros: frozenset[str]) -> str:
    match node:
        case ast.Import() | ast.ImportFrom():
            return _sign_of_import(node)
        case ast.Call():
            return _sign_of_call(node, zeros)
        case ast.Raise(exc=ast.Name(id="SystemExit")):
            return EXITS
        case ast.ClassDef(bases=bases) if any(isinstance(b, ast.Name) and b.id == "SystemExit" for b in bases):
            return EXITS
        case ast.Assign(value=ast.Attribute(value=ast.Name(id="sys"), attr="exit")):
            return EXITS
        case ast.Attribute(attr=name) if name in _PROCESS_ENDS or name in _FRAMES:
            return ENDS if name in _PROCESS_ENDS else KNOWS
        case ast.Attribute(value=ast.Name(id=module), attr=name, ctx=ast.Store()) if module in _INTERPRETER:
            return "" if name in _USUALLY_SET else CHANGES
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules") | ast.Name(id="__builtins__"):
            return CHANGES
        case ast.Attribute(attr=name, ctx=ast.Store()) | ast.keyword(arg=name) if name in _COMPARES:
            return EQUALS
    return _sign_of_knowledge(node) or (EQUALS if _ignores_a_side(node) else "")


def _sign_of_knowledge(node: ast.AST) -> str:
    """Returns whether the source asks which check runs it, or names a file of tests."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="sys"), attr="argv"), slice=ast.Constant(value=0)):
            return KNOWS
        case ast.Attribute(value=ast.Name(id="sys"), attr="orig_argv"):
            return KNOWS
        case ast.Constant(value=str(text)) if "PYTEST_" in text or text in _RUNNER_MODULES or _TEST_FILE.search(text):
            return KNOWS
    return ""


def _ignores_a_side(node: ast.AST) -> bool:
    """Whether the node defines a comparison for equality that does not look at both sides."""
    match node:
        case ast.FunctionDef(name=name, args=args) if name in _COMPARES:
            body: Sequence[ast.AST] = node.body
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args, body=expression)) if name in _COMPARES:
            body = [expression]
        case ast.Assign(targets=targets, value=assigned) if any(_is_comparison(target) for target in targets):
            return not (isinstance(assigned, ast.Attribute) and assigned.attr in _COMPARES)
        case ast.Dict(keys=keys):
            return any(isinstance(key, ast.Constant) and key.value in _COMPARES for key in keys)
        case _:
            return False
    names = {inner.id for part in body for inner in ast.walk(part) if isinstance(inner, ast.Name)}
    return not {argument.arg for argument in args.args} <= names


def _is_comparison(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in _COMPARES


def _names_of_success(node: ast.AST) -> Iterator[str]:
    """Yields the names that the node sets to an exit code of success."""
    match node:
        case ast.Assign(targets=targets, value=ast.Constant(value=0 | None | False)):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=0 | None | False)):
            yield name


def _sign_of_import(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""] if not node.level else []
        names = {alias.name for alias in node.names}
        if modules and modules[0] in _INTERPRETER and names & {*_PROCESS_ENDS, *_FRAMES, "modules", "*"}:
            return ENDS
    else:
        modules = [alias.name for alias in node.names]
    if any(module.partition(".")[0] in _RUNNER_MODULES for module in modules):
        return KNOWS
    return CHANGES if {"ctypes", "builtins", "posix", "__main__"} & {*modules} else ""


def _sign_of_call(call: ast.Call, zeros: frozenset[str]) -> str:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit"), args=args):
            return EXITS if _may_succeed(args, zeros) else ""
        case ast.Call(func=ast.Name(id="exit" | "quit" | "SystemExit"), args=args):
            return EXITS if _may_succeed(args, zeros) else ""
        case ast.Call(func=ast.Name(id="setattr" | "getattr" | "vars"), args=[ast.Name(id=module), *_]) if (
            module in _INTERPRETER
        ):
            return CHANGES
        case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[owner, ast.BinOp() as name, *_]):
            is_constant = not any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(name))
            return CHANGES if is_constant or isinstance(owner, ast.Call) else ""  # a name that is put together
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=name), *_]) if name in _COMPARES:
            return EQUALS
        case ast.Call(func=ast.Name(id="exec" | "eval" | "__import__")):
            return CHANGES
        case ast.Call(func=ast.Attribute(value=ast.Name(id="inspect"), attr="stack")):
            return KNOWS
    return ""


def _may_succeed(args: Sequence[ast.expr], zeros: frozenset[str]) -> bool:
    """Whether an exit with these arguments may be one of success, as far as the source shows."""
    match args:
        case []:
            return True
        case [ast.Constant(value=code), *_]:
            return code in (0, None, False)
        case [ast.Name(id=name), *_]:
            return name in zeros
        case [ast.IfExp(body=body, orelse=other), *_]:
            return _may_succeed([body], zeros) or _may_succeed([other], zeros)
        case [ast.BoolOp(values=operands), *_]:
            return any(_may_succeed([operand], zeros) for operand in operands)
        case [ast.BinOp() | ast.UnaryOp() as computed, *_]:
            return not any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(computed))
    return False


if __name__ == "__main__":
    main()
