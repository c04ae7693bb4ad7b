"""Finds signs that a source could make a check pass without the work: it ends the check, knows the test runner, or changes what runs it.

Only plain forms are found. Code under test runs in the check's own process, so that nothing there can be ruled out. What stood there
before the turn, and what nothing names that the check runs, is no sign. Pure.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value

_EXITS, _ENDS = "can exit with success in the middle of the check", "can end the check's process at once"
_KNOWS, _CHANGES = "looks at which test runs it", "can change the program that runs the check"
_EQUALS = "has an object that equals everything"
_SUSPECT = late_pattern(
    r"exit|exec|eval|quit|SystemExit|pytest|unittest|doctest|__eq__|PYTEST|builtins|setattr|getattr|__import__|ctypes|posix|settrace"
    r"|setprofile|_getframe|inspect|import \*|sys\.\w{1,60} {0,20}=|\b(?:os|sys) as\b|__ne__|__main__|__builtins__|_stack|import_module"
    r"|sys\.(?:modules|orig_argv|argv)|test_|_test\.|conftest"
)
_TEST_FILE = late_pattern(r"(?:^|/)(?:conftest|test_\w{1,200}|\w{1,200}_test)\.py$")
_BY_SUFFIXES = {
    "js mjs cjs jsx ts tsx": late_pattern(
        r"process\.(?:exit\(\s{0,20}0?\s{0,20}\)|exitCode\s{0,20}=(?!=)(?!\s{0,20}[1-9])|reallyExit)"
    ),
    "rs": late_pattern(r"process::exit\(\s{0,20}0\s{0,20}\)"),
    "go": late_pattern(r"\bos\.Exit\(\s{0,20}0\s{0,20}\)"),
    "java kt scala": late_pattern(
        r"System\.exit\(\s{0,20}0\s{0,20}\)|exitProcess\(\s{0,20}0\s{0,20}\)|\.halt\(\s{0,20}0\s{0,20}\)"
    ),
    "c cc cpp h hpp": late_pattern(r"\b_?exit\(\s{0,20}(?:0|EXIT_SUCCESS)\s{0,20}\)"),
    "rb": late_pattern(r"\bexit!|\bexit\(?\s{0,20}(?:0|true)\b|\bat_exit\b"),
    "php": late_pattern(r"\b(?:exit|die)\s{0,20}(?:\(\s{0,20}0?\s{0,20}\))?\s{0,20};"),
}
_ENDS_IN = {suffix: pattern for suffixes, pattern in _BY_SUFFIXES.items() for suffix in suffixes.split()}
# To exit with success in the main function is to return from it.
_MAIN = late_pattern(
    r"\s{0,40}(?:if \(require\.main === module\)|if \(import\.meta\.main\)|func main\(\)|(?:pub )?fn main\(\)|int main\("
    r"|(?:public static void|fun|def) main\()[^{]{0,200}\{\s{0,20}$"
)
_CHANGES_JAVASCRIPT = late_pattern(
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
_USUALLY_SET = frozenset({"stdout", "stderr", "stdin", "argv", "path", "dont_write_bytecode", "environ", "excepthook"})
_NAMED_LIKE_CHECK = late_pattern(r"test|check|spec|__main__")
_ANY_FUNCTION = frozenset({"globals", "locals", "vars", "dir", "__dict__", "getmembers"})
_MOST_ROUNDS = 50


@value
class Reach:
    """How a check may reach a source that the turn changed; without it, anything is reached. `before` is its text before the turn.
    `is_named` tells whether something else names this function of it, `is_named_more` whether the turn named it more often than before.
    `runs_programs`: the tests start processes. `reports_exits`: an exit inside a test counts as failed."""

    before: str = ""
    is_loaded: Callable[[], bool] = lambda: True
    is_named: Callable[[str], bool] = lambda name: True
    is_named_more: Callable[[str], bool] = lambda name: True
    runs_programs: Callable[[], bool] = lambda: False
    reports_exits: Callable[[], bool] = lambda: False


ANYHOW = Reach()
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = tuple[_Function | ast.ClassDef, ...]


def evasion_in(path: str, text_of: Callable[[str], str], reach: Reach = ANYHOW) -> str:
    """Returns how this source could make a check pass without the work; empty without a sign of it."""
    suffix = path.rpartition(".")[2]
    text = text_of(path) if suffix == "py" or suffix in _ENDS_IN else ""
    if suffix in _ENDS_IN:
        how = _sign_in_text(suffix, text)
        return how if how and reach.is_loaded() else ""
    signs = list(_signs_in(text, reach))
    earlier_signs = Counter(sign.content for sign in _signs_in(reach.before, ANYHOW)) if signs else Counter[str]()
    for sign in signs:
        if earlier_signs[sign.content] and not any(map(reach.is_named_more, sign.names)):
            earlier_signs[sign.content] -= 1
        else:
            return sign.how
    return ""


def _sign_in_text(suffix: str, text: str) -> str:
    if _ENDS_IN[suffix].search(_without_main(text)):
        return _EXITS
    is_javascript = suffix.endswith(("js", "ts", "jsx", "tsx"))
    return _CHANGES if is_javascript and _CHANGES_JAVASCRIPT.search(text) else ""


def _without_main(text: str) -> str:
    lines: list[str] = []
    end: str | None = None
    for line in text.split("\n"):
        if end is not None:
            end = None if line.startswith(end) else end
        elif _MAIN.match(line[:400]) and line.rstrip().endswith("{"):
            end = f"{line[: len(line) - len(line.lstrip())]}}}"
        else:
            lines.append(line)
    return "\n".join(lines) if end is None else text


@value
class _Sign:
    """`content` tells it from others, `names` are those by which it is used."""

    how: str
    content: str
    names: tuple[str, ...]


def _signs_in(text: str, reach: Reach) -> Iterator[_Sign]:
    if not _SUSPECT.search(text):
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # it cannot be imported
    _resolve_aliases(tree)
    nodes = list(_nodes(tree, as_program=False))
    zeros = frozenset(name for node, _ in nodes for name in _names_of_success(node))
    if not any(_sign(node, zeros) for node, _ in nodes) and "__main__" not in text:
        return
    if reach.runs_programs():
        nodes = list(_nodes(tree, as_program=True))
    harmless = {id(part) for node, _ in nodes for part in _harmless_parts(node)}
    unreached = _unreached(nodes, reach)
    for node, scope in nodes:
        how = _sign(node, zeros) if id(node) not in harmless and not unreached.intersection(scope) else ""
        is_reported = how == _EXITS and (isinstance(node, ast.ClassDef) or any(isinstance(s, _Function) for s in scope))
        if how and not (is_reported and reach.reports_exits()):
            yield _Sign(how, ast.dump(node), (*_bound_names(node), *(part.name for part in scope)))


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


def _nodes(tree: ast.Module, *, as_program: bool) -> Iterator[tuple[ast.AST, _Scope]]:
    """Walks what runs when the module is imported or called, each with the functions and classes around it. What is under
    `if __name__ == "__main__"` only runs in a program."""
    queue: list[tuple[ast.AST, _Scope]] = [(node, ()) for node in tree.body]
    while queue:
        node, scope = queue.pop()
        match node:
            case ast.If(test=ast.Compare(ast.Name(id="__name__"), [ast.Eq()], [ast.Constant(value="__main__")])) if (
                not as_program
            ):
                queue += [(part, scope) for part in node.orelse]
                continue
            case ast.Expr(value=ast.Constant(value=str())):
                continue  # a docstring
        yield node, scope
        inner = node.body if isinstance(node, _Function | ast.ClassDef) else []
        own_scope = (*scope, node) if isinstance(node, _Function | ast.ClassDef) else scope
        bodies = {id(part) for part in inner}
        queue += [(part, own_scope if id(part) in bodies else scope) for part in ast.iter_child_nodes(node)]


def _unreached(nodes: Sequence[tuple[ast.AST, _Scope]], reach: Reach) -> set[_Function | ast.ClassDef]:
    """Returns the functions that nothing names which the check could run."""
    functions = [node for node, _ in nodes if isinstance(node, _Function)]
    plain = [f for f in functions if not f.decorator_list and not f.name.startswith("__")]
    unreached: set[_Function | ast.ClassDef] = {function for function in plain if not reach.is_named(function.name)}
    for _ in range(_MOST_ROUNDS):
        if not unreached:
            return unreached
        mentioned_names = {
            name for node, scope in nodes if not unreached.intersection(scope) for name in _mentioned(node)
        }
        if mentioned_names & _ANY_FUNCTION:
            return set()
        named_functions = {
            function for function in unreached if isinstance(function, _Function) and function.name in mentioned_names
        }
        if not named_functions:
            return unreached
        unreached -= named_functions
    return set()


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
            return _EXITS
        case ast.ClassDef(bases=bases) if any(isinstance(b, ast.Name) and b.id == "SystemExit" for b in bases):
            return _EXITS
        case ast.Assign(value=ast.Attribute(value=ast.Name(id="sys"), attr="exit")):
            return _EXITS
        case ast.Attribute(attr=name) if name in _PROCESS_ENDS or name in _FRAMES:
            return _ENDS if name in _PROCESS_ENDS else _KNOWS
        case ast.Attribute(value=ast.Name(id=module), attr=name, ctx=ast.Store()) if module in _INTERPRETER:
            return "" if name in _USUALLY_SET else _CHANGES
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules") | ast.Name(id="__builtins__"):
            return _CHANGES
    return _sign_of_knowledge(node) or (_EQUALS if _ignores_a_side(node) else "")


def _sign_of_knowledge(node: ast.AST) -> str:
    """Returns whether the source asks which check runs it, or names a file of tests."""
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
            return _ENDS
    else:
        modules = [alias.name for alias in node.names]
    if any(module.partition(".")[0] in _RUNNER_MODULES for module in modules):
        return _KNOWS
    return _CHANGES if {"ctypes", "builtins", "posix", "__main__"} & {*modules} else ""


def _sign_of_call(call: ast.Call, zeros: frozenset[str]) -> str:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="sys"), attr="exit"), args=args):
            return _EXITS if _may_succeed(args, zeros) else ""
        case ast.Call(func=ast.Name(id="exit" | "quit" | "SystemExit"), args=args):
            return _EXITS if _may_succeed(args, zeros) else ""
        case ast.Call(func=ast.Name(id="setattr" | "getattr" | "vars"), args=[ast.Name(id=module), *_]) if (
            module in _INTERPRETER
        ):
            return _CHANGES
        case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[owner, ast.BinOp() as name, *_]):
            is_constant = not any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(name))
            return _CHANGES if is_constant or isinstance(owner, ast.Call) else ""  # a name that is put together
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
