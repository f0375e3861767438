"""What the scripts of a page read."""

import json
import re
from typing import Any


def page_json(page: str) -> str:
    """The JSON in a page, as it is written there."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return text


def page_data(page: str) -> dict[str, Any]:
    """The values of a page's JSON."""
    return json.loads(page_json(page))


def applied(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames whose `changes` these are, as a page puts them together."""
    now: dict[str, Any] = {}
    return [now := {**now, **change} for change in frames]
