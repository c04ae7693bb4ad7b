"""Every SQL statement of the store's shared modules, read from their source: also those that are put together from parts."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from inspect import getsource
from itertools import product
from types import ModuleType
from typing import NamedTuple

from anycowork.domain.metering import UsageGroup
from anycowork.domain.visibility import Viewer
from anycowork.store import postgres
from anycowork.store import sql as package
from anycowork.store.sql import jobs
from anycowork.store.sql.connection import Dialect


class StoreStatement(NamedTuple):
    module: str
    function: str
    sql: str

    @property
    def place(self) -> str:
        return f"{self.module}.{self.function}"


def store_statements(dialect: Dialect) -> list[StoreStatement]:
    """Returns each statement once for each way in which its function can put it together."""
    found = []
    for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        module = importlib.import_module(f"{package.__name__}.{name}")
        tree = ast.parse(getsource(module))
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            texts = _Texts(module, tree, function, dialect)
            for call in [node for node in ast.walk(function) if _is_execute(node)]:
                found += [StoreStatement(name, function.name, text) for text in texts.of(call.args[0])]  # type: ignore[attr-defined]
    return sorted(set(found))


def postgres_statements() -> list[StoreStatement]:
    """Returns the statements of the modules for PostgreSQL: every text in them that begins like one. A move reads all tables."""
    found = []
    for name in sorted(module.name for module in pkgutil.iter_modules(postgres.__path__)):
        if name in _WHOLE_DATABASE:
            continue
        module = importlib.import_module(f"{postgres.__name__}.{name}")
        tree = ast.parse(getsource(module))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
                text = eval(compile(ast.Expression(node), "", "eval"), vars(module)) if _is_statement(node) else ""
                found += [StoreStatement(name, "", text)] if text else []
    return sorted(set(found))


_WHOLE_DATABASE = ("schema", "transfer", "connection", "pending_writes")


def _is_statement(node: ast.Constant | ast.JoinedStr) -> bool:
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    text = first.value if isinstance(first, ast.Constant) else None
    return isinstance(text, str) and text.lstrip().startswith(_DML)


_DML = ("SELECT ", "UPDATE ", "DELETE ", "INSERT ", "WITH ")


def _is_execute(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EXECUTE


_EXECUTE = ("execute", "executemany", "write_later")


# What functions that build a statement are given, where it is no text. Another such argument fails here with its name.
_SAMPLES: dict[str, list[dict[str, object]]] = {
    "filled": [{"filled": (given,) * len(jobs._SOMETIMES)} for given in (True, False)],
    "by": [{"by": group} for group in UsageGroup if group not in (UsageGroup.PERSON, UsageGroup.GROUP)],
    "viewer": [{"viewer": Viewer("p1", ("design",))}],
}


class _Texts:
    """All texts that an expression of one function can be."""

    def __init__(
        self, module: ModuleType, tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef, dialect: Dialect
    ) -> None:
        self._module = module
        self._tree = tree
        self._function = function
        self._dialect = dialect

    def of(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=parts):
                return ["".join(each) for each in product(*map(self.of, parts))]
            case ast.FormattedValue(value=value):
                return self.of(value)
            case ast.IfExp(body=one, orelse=other):
                return [*self.of(one), *self.of(other)]
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(attr="search"):
                return [self._dialect.search]
            case ast.Attribute(attr="share"):
                return [self._dialect.share]
            case ast.Attribute(attr="lock"):
                return [self._dialect.lock]
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str(mark)), attr="join"), args=[ast.Name(id=name)]
            ):
                return list(self._joined(mark, name))
            case ast.BoolOp(values=[*_, last]):
                return self.of(last)
            case ast.Call(
                func=ast.Attribute(attr="join"), args=[ast.GeneratorExp(elt=ast.Constant(value="?")) | ast.BinOp()]
            ):
                return ["?, ?"]
            case _:
                code = compile(ast.Expression(node), "", "eval")
                names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                samples = next((_SAMPLES[name] for name in sorted(names & _SAMPLES.keys())), [{}])
                return [str(eval(code, {**vars(self._module), **sample})) for sample in samples]

    def _named(self, name: str) -> list[str]:
        if assigned := [text for value in self._assigned(name) for text in self.of(value)]:
            return assigned
        names = [argument.arg for argument in self._function.args.args]
        if name in names:
            return self._passed(names.index(name))
        if name in vars(self._module):
            return [str(vars(self._module)[name])]
        loops = [node for node in ast.walk(self._function) if isinstance(node, ast.For)]
        of_name = [
            loop.iter
            for loop in loops
            if name in {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
        ]
        return [text for values in of_name for text in self._looped(values)]

    def _assigned(self, name: str) -> Iterator[ast.expr]:
        for node in ast.walk(self._function):
            if not isinstance(node, ast.Assign):
                continue
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
            if isinstance(target, ast.Tuple):
                names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
                whole = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
                if name in names:
                    yield from (each.elts[names.index(name)] for each in whole if isinstance(each, ast.Tuple))

    def _joined(self, mark: str, name: str) -> Iterator[str]:
        """A list that grows: as it begins, with each of its further parts, and with all."""
        begin = next(value for value in self._assigned(name) if isinstance(value, ast.List))
        base = [text for part in begin.elts for text in self.of(part)]
        further = [
            text
            for node in ast.walk(self._function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
            if isinstance(node.func.value, ast.Name) and node.func.value.id == name
            for text in self.of(node.args[0])
        ]
        for parts in ([], *([each] for each in further), further):
            yield mark.join([*base, *parts])

    def _passed(self, place: int) -> list[str]:
        """What other functions of the module give as this argument, directly or through a reader."""
        return [
            text
            for caller in ast.walk(self._tree)
            if isinstance(caller, ast.FunctionDef | ast.AsyncFunctionDef)
            for call in ast.walk(caller)
            if isinstance(call, ast.Call)
            for argument in self._argument(call, place)
            for text in _Texts(self._module, self._tree, caller, self._dialect).of(argument)
        ]

    def _argument(self, call: ast.Call, place: int) -> list[ast.expr]:
        match call:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(args=[ast.Name(id=name), *_]) if (
                name == self._function.name
            ):
                return [call.args[place]]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name == self._function.name:
                return [call.args[place - 1]]
            case _:
                return []

    def _looped(self, values: ast.expr) -> list[str]:
        """The first of each row in a loop over rows, or each text in a loop over texts."""
        if isinstance(values, ast.Name):
            return [str(each) for each in vars(self._module)[values.id]]
        rows = values.elts if isinstance(values, ast.Tuple) else []
        return [text for row in rows if isinstance(row, ast.Tuple) for text in self.of(row.elts[0])]
