"""The template of the route that answers a request, for metrics: never the path itself, which holds ids."""

from starlette.types import Scope

UNMATCHED = "unmatched"
_KEY = "anycowork.route"


def expect_route(scope: Scope) -> list[str]:
    """Returns a list that will hold the template. Middleware may copy the scope; the list stays the same."""
    templates: list[str] = []
    scope[_KEY] = templates
    return templates


def name_route(scope: Scope, template: str) -> None:
    templates = scope.get(_KEY)
    if templates is not None:
        templates[:] = [template]
