#!/usr/bin/env python3
"""A small advertising platform, for worker.py: it serves the daily and hourly figures of two accounts, page by page.

Usage: tenthplatform.py [PORT]. It prints its address, and runs until it is ended.

    GET /accounts                                 the ids of the accounts
    GET /report?account=&level=&day=&hourly=&page=  a page of rows with the total; HTTP 429 once, to show a refusal
"""

import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

ACCOUNTS = ["t-1001", "t-1002"]
PAGE = 7
OBJECTS = {"account": [""], "campaign": ["c1", "c2"], "adgroup": [f"g{n}" for n in range(1, 11)]}

refused = False


def number(*key: object) -> int:
    """A number that only depends on the key, so that every answer is the same."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big")


def rows(account: str, level: str, day: str, hourly: bool) -> list[dict[str, object]]:
    """The figures of a day. Each level has the same money: ad groups divide what their account has spent."""
    found: list[dict[str, object]] = []
    ids = OBJECTS[level]
    for hour in range(24):
        cents = number(account, day, hour) % 100_000
        for i, name in enumerate(ids):
            share = cents // len(ids) + (cents % len(ids) if i == 0 else 0)
            found.append({"object": name, "hour": hour, "cents": share, "clicks": share // 50, "shows": share})
    if hourly:
        return found
    days: dict[str, dict[str, object]] = {}
    for row in found:
        sums = days.setdefault(str(row["object"]), {"object": row["object"], "cents": 0, "clicks": 0, "shows": 0})
        for field in ("cents", "clicks", "shows"):
            sums[field] += row[field]  # type: ignore[operator]
    return list(days.values())


class Handler(BaseHTTPRequestHandler):
    """Answers in JSON."""

    def do_GET(self) -> None:
        global refused
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/accounts":
            self.answer(200, ACCOUNTS)
        elif url.path != "/report" or query.get("account") not in ACCOUNTS or query.get("level") not in OBJECTS:
            self.answer(404, {"error": "unknown"})
        elif not refused:
            refused = True
            self.answer(429, {"error": "too many calls", "retry_after_ms": 1000})
        else:
            found = rows(query["account"], query["level"], query["day"], query.get("hourly") == "1")
            page = int(query.get("page", "1"))
            self.answer(200, {"total": len(found), "rows": found[(page - 1) * PAGE : page * PAGE]})

    def answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
