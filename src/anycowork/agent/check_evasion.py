"""Finds signs that a source could make a check pass without the work: it ends the check, knows the test runner, or changes what runs it.

Only plain forms are found. Code under test runs in the check's own process, so that nothing there can be ruled out. Pure.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

_ENDS, _KNOWS = "can end the check as if it had passed", "knows the test runner"
_CHANGES, _EQUALS = "can change what runs the check", "has an object that equals everything"
_SUSPECT = re.compile(
    r"exit|exec|eval|quit|SystemExit|pytest|unittest|doctest|__eq__|PYTEST|builtins|setattr|getattr|__import__|ctypes|posix|settrace"
    r"|setprofile|_getframe|inspect|import \*|sys\.\w{1,60} {0,20}=|\b(?:os|sys) as\b"
)
_BY_SUFFIXES = {
    "js mjs cjs jsx ts tsx": re.compile(r"process\.(?:exit\(\s{0,20}0?\s{0,20}\)|exitCode\s{0,20}=|reallyExit)"),
    "rs": re.compile(r"process::exit\(\s{0,20}0\s{0,20}\)"),
    "go": re.compile(r"\bos\.Exit\(\s{0,20}0\s{0,20}\)"),
    "java kt scala": re.compile(
        r"System\.exit\(\s{0,20}0\s{0,20}\)|exitProcess\(\s{0,20}0\s{0,20}\)|\.halt\(\s{0,20}0\s{0,20}\)"
    ),
    "c cc cpp h hpp": re.compile(r"\b_?exit\(\s{0,20}(?:0|EXIT_SUCCESS)\s{0,20}\)"),
    "rb": re.compile(r"\bexit!|\bexit\(?\s{0,20}(?:0|true)\b|\bat_exit\b"),
    "php": re.compile(r"\b(?:exit|die)\s{0,20}(?:\(\s{0,20}0?\s{0,20}\))?\s{0,20};"),
}
_ENDS_IN = {suffix: pattern for suffixes, pattern in _BY_SUFFIXES.items() for suffix in suffixes.split()}
_RUNNER_MODULES = frozenset({"pytest", "_pytest", "unittest", "doctest"})
_INTERPRETER = frozenset({"os", "sys", "posix", "builtins"})
_PROCESS_ENDS = frozenset({
    "_exit", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe",
})  # fmt: skip
_FRAMES = frozenset({"settrace", "setprofile", "_getframe", "currentframe"})
_USUALLY_SET = frozenset({"stdout", "stderr", "stdin", "argv", "path", "dont_write_bytecode", "environ"})


def evasion_in(path: str, text_of: Callable[[str], str]) -> str:
    """Return how this source could make a check pass without the work; empty without a sign of it."""
    suffix = path.rpartition(".")[2]
    if suffix in _ENDS_IN:
        return _ENDS if _ENDS_IN[suffix].search(text_of(path)) else ""
    text = text_of(path) if suffix == "py" else ""
    if not _SUSPECT.search(text):
        return ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # it cannot be imported
    return next((how for node in _reachable(tree) if (how := _sign(node))), "")


def _reachable(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk what runs when the module is imported or called, not what is under `if __name__ == "__main__"`."""
    queue: list[ast.AST] = [*tree.body]
    while queue:
        node = queue.pop()
        match node:
            case ast.If(test=ast.Compare(ast.Name(id="__name__"), [ast.Eq()], [ast.Constant(value="__main__")])):
                queue += node.orelse
            case _:
                yield node
                queue += ast.iter_child_nodes(node)


def _sign(node: ast.AST) -> str:
    match node:
        case ast.Import() | ast.ImportFrom():
            return _sign_of_import(node)
        case ast.Call():
            return _sign_of_call(node)
        case ast.Raise(exc=ast.Name(id="SystemExit")):
            return _ENDS
        case ast.Attribute(attr=name) if name in _PROCESS_ENDS or name in _FRAMES:
            return _ENDS if name in _PROCESS_ENDS else _KNOWS
        case ast.Attribute(value=ast.Name(id=module), attr=name, ctx=ast.Store()) if module in _INTERPRETER:
            return "" if name in _USUALLY_SET else _CHANGES
        case ast.Constant(value=str(text)) if "PYTEST_" in text or text in _RUNNER_MODULES:
            return _KNOWS
        case ast.FunctionDef(name="__eq__", body=[ast.Return(value=ast.Constant(value=True))]):
            return _EQUALS
    return ""


def _sign_of_import(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""] if not node.level else []
        names = {alias.name for alias in node.names}
        if modules and modules[0] in _INTERPRETER and names & {*_PROCESS_ENDS, *_FRAMES, "exit", "modules", "*"}:
            return _ENDS
    else:
        modules = [alias.name for alias in node.names]
        if any(alias.name in _INTERPRETER and alias.asname for alias in node.names):
            return _CHANGES
    if any(module.partition(".")[0] in _RUNNER_MODULES for module in modules):
        return _KNOWS
    return _CHANGES if {"ctypes", "builtins", "posix"} & {*modules} else ""


def _sign_of_call(call: ast.Call) -> str:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit"), args=args):
            return _ENDS if _is_success(args) else ""
        case ast.Call(func=ast.Name(id="exit" | "quit" | "SystemExit"), args=args):
            return _ENDS if _is_success(args) else ""
        case ast.Call(func=ast.Name(id="setattr" | "getattr" | "vars"), args=[ast.Name(id=module), *_]):
            return _CHANGES if module in _INTERPRETER else ""
        case ast.Call(func=ast.Name(id="exec" | "eval" | "__import__")):
            return _CHANGES
        case ast.Call(func=ast.Attribute(value=ast.Name(id="inspect"), attr="stack")):
            return _KNOWS
    return ""


def _is_success(args: Sequence[ast.expr]) -> bool:
    return not args or (isinstance(args[0], ast.Constant) and args[0].value in (0, None, False))
