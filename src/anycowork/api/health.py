"""Is it alive, is it ready, how much has it done. The first two are open to probes; the numbers need the token."""

from fastapi import Request, Response

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.base import Health
from anycowork.domain.errors import StorageFault

routes = Routes(tags=["operation"])


class NotReady(StorageFault):
    code = "not_ready"


@routes.get("/healthz", response_model=Health, responses=faults())
async def health() -> Response:
    return answer(200, {"status": "ok"})


@routes.get("/readyz", response_model=Health, responses=faults())
async def readiness(rooms: House) -> Response:
    """503 while the server is ending, or when its database does not answer."""
    if rooms.stopping.is_set():
        raise NotReady("The server is stopping. Ask another one, or try again when it is back.")
    await rooms.store.chat("")  # any read proves that the database answers
    return answer(200, {"status": "ready"})


@routes.get(
    "/metrics",
    response_class=Response,
    responses={**faults(), 200: {"description": "Prometheus text.", "content": {"text/plain": {}}}},
)
async def metrics(request: Request, principal: Reader, rooms: House) -> Response:
    lines = [f"anycowork_{name} {value}" for name, value in sorted((await rooms.numbers()).items())]
    answers = sorted(request.app.state.answers.items())
    lines += [f'anycowork_http_answers_total{{status="{status}"}} {count}' for status, count in answers]
    asked = sorted(request.app.state.passed_on.items())
    lines += [f'anycowork_gateway_requests_total{{principal="{label}"}} {count}' for label, count in asked]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")
