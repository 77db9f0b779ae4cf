"""The voice server inside your own web application, with your routes and page: uvicorn mounted:app

The example uses Starlette; FastAPI takes the same arguments.
"""

import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount, Route

from voiceagent.server.app import create_app

CONFIG = os.environ.get("VOICE_CONFIG", str(Path(__file__).with_name("fallback.toml")))
PAGE = """<!doctype html><title>Shop</title>
<h1>Shop</h1>
<p><a href="/">Talk to us</a></p>
"""

voice = create_app(CONFIG)


async def page(_: Request) -> HTMLResponse:
    """Return the shop's own page."""
    return HTMLResponse(PAGE)


async def orders(_: Request) -> JSONResponse:
    """Return the orders so far."""
    return JSONResponse([])


app = Starlette(
    routes=[Route("/shop", page), Route("/orders", orders), Mount("/", voice)],
    lifespan=voice.lifespan,  # the engines start and end with the application
)
