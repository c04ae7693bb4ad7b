"""Route dependencies: the services container from the application's state."""

from typing import Annotated

from fastapi import Depends, Request

from anycowork.server.services import Services


async def _services_of(request: Request) -> Services:
    services = request.app.state.services
    assert isinstance(services, Services)
    return services


ServicesDep = Annotated[Services, Depends(_services_of)]
