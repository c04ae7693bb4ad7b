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
    r"|setprofile|_getframe|inspect|import \*|sys\.\w{1,60} {0,20}=|\b(?:os|sys) as\b|__ne__|__main__|__builtins__|_stack|import_module"
    r"|sys\.(?:modules|orig_argv|argv)|test_|_test\.|conftest"
)
_TEST_FILE = re.compile(r"(?:^|/)(?:conftest|test_\w{1,200}|\w{1,200}_test)\.py$")
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
_CHANGES_JAVASCRIPT = re.compile(
    r"[\"'](?:node:test|vitest|mocha|chai|ava|@jest/globals|@playwright/test)[\"']"
    r"|\b(?:assert|expect)(?:[\"']\))?(?:\.\w{1,60}){1,3}\s{0,20}=[^=>]|\bglobalThis\.(?:test|it|describe|expect|assert)\s{0,20}=[^=]"
)
_RUNNER_MODULES = frozenset({"pytest", "_pytest", "unittest", "doctest"})
_INTERPRETER = frozenset({"os", "sys", "posix", "builtins"})
_PROCESS_ENDS = frozenset({
    "_exit", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe",
})  # fmt: skip
_FRAMES = frozenset({
    "settrace", "setprofile", "_getframe", "currentframe", "extract_stack", "format_stack", "walk_stack", "print_stack",
})  # fmt: skip
_COMPARES = ("__eq__", "__ne__")
_USUALLY_SET = frozenset({"stdout", "stderr", "stdin", "argv", "path", "dont_write_bytecode", "environ"})


def evasion_in(path: str, text_of: Callable[[str], str]) -> str:
    """Return how this source could make a check pass without the work; empty without a sign of it."""
    suffix = path.rpartition(".")[2]
    text = text_of(path) if suffix == "py" or suffix in _ENDS_IN else ""
    if suffix in _ENDS_IN:
        return _ENDS if _ENDS_IN[suffix].search(text) else _CHANGES if _is_javascript_evasive(suffix, text) else ""
    if not _SUSPECT.search(text):
        return ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # it cannot be imported
    nodes = list(_reachable(tree))
    zeros = frozenset(name for node in nodes for name in _names_of_success(node))
    return next((how for node in nodes if (how := _sign(node, zeros))), "")


def _is_javascript_evasive(suffix: str, text: str) -> bool:
    return suffix.endswith(("js", "ts", "jsx", "tsx")) and _CHANGES_JAVASCRIPT.search(text) is not None


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


def _sign(node: ast.AST, zeros: frozenset[str]) -> str:
    match node:
        case ast.Import() | ast.ImportFrom():
            return _sign_of_import(node)
        case ast.Call():
            return _sign_of_call(node, zeros)
        case ast.Raise(exc=ast.Name(id="SystemExit")):
            return _ENDS
        case ast.ClassDef(bases=bases) if any(isinstance(b, ast.Name) and b.id == "SystemExit" for b in bases):
            return _ENDS
        case ast.Attribute(attr=name) if name in _PROCESS_ENDS or name in _FRAMES:
            return _ENDS if name in _PROCESS_ENDS else _KNOWS
        case ast.Attribute(value=ast.Name(id=module), attr=name, ctx=ast.Store()) if module in _INTERPRETER:
            return "" if name in _USUALLY_SET else _CHANGES
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules") | ast.Name(id="__builtins__"):
            return _CHANGES
    return _sign_of_knowledge(node) or (_EQUALS if _ignores_a_side(node) else "")


def _sign_of_knowledge(node: ast.AST) -> str:
    """Return whether the source asks which check runs it, or names a file of tests."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="sys"), attr="argv"), slice=ast.Constant(value=0)):
            return _KNOWS
        case ast.Attribute(value=ast.Name(id="sys"), attr="orig_argv"):
            return _KNOWS
        case ast.Constant(value=str(text)) if "PYTEST_" in text or text in _RUNNER_MODULES or _TEST_FILE.search(text):
            return _KNOWS
    return ""


def _ignores_a_side(node: ast.AST) -> bool:
    """Whether the node defines a comparison for equality that does not look at both sides."""
    match node:
        case ast.FunctionDef(name=name, args=args) if name in _COMPARES:
            body: Sequence[ast.AST] = node.body
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args, body=expression)) if name in _COMPARES:
            body = [expression]
        case ast.Dict(keys=keys):
            return any(isinstance(key, ast.Constant) and key.value in _COMPARES for key in keys)
        case _:
            return False
    names = {inner.id for part in body for inner in ast.walk(part) if isinstance(inner, ast.Name)}
    return not {argument.arg for argument in args.args} <= names


def _names_of_success(node: ast.AST) -> Iterator[str]:
    """Yield the names that the node sets to an exit code of success."""
    match node:
        case ast.Assign(targets=targets, value=ast.Constant(value=0 | None | False)):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=0 | None | False)):
            yield name


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
    return _CHANGES if {"ctypes", "builtins", "posix", "__main__"} & {*modules} else ""


def _sign_of_call(call: ast.Call, zeros: frozenset[str]) -> str:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit"), args=args):
            return _ENDS if _may_succeed(args, zeros) else ""
        case ast.Call(func=ast.Name(id="exit" | "quit" | "SystemExit"), args=args):
            return _ENDS if _may_succeed(args, zeros) else ""
        case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.BinOp(), *_]):
            return _CHANGES  # a name that is put together
        case ast.Call(func=ast.Name(id="setattr" | "getattr" | "vars"), args=[ast.Name(id=module), *_]):
            return _CHANGES if module in _INTERPRETER else ""
        case ast.Call(func=ast.Name(id="exec" | "eval" | "__import__")):
            return _CHANGES
        case ast.Call(func=ast.Attribute(value=ast.Name(id="inspect"), attr="stack")):
            return _KNOWS
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
