"""The Search page at `/`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from orienteer.web.rendering import Entry, render

ENTRY = Entry("/", "Search")
router = APIRouter()


@router.get("/", include_in_schema=False)
def search_page(request: Request) -> HTMLResponse:
    return render(request, "search.html")
