#!/usr/bin/env python3
"""An outside worker of adsync: it pulls the reports of a platform that adsync has no code for.

It takes jobs from a queue of adsync. Each is a subtask: a day of an account. For each one it claims the day, calls the
platform within adsync's limits, stages the rows, completes the pull, and acknowledges the job. Copy it, and change
what is under "The platform".

Environment: ADSYNC_SERVER (the API), ADSYNC_TOKEN (role operator), ADSYNC_JOBS_SERVER (the job queue),
ADSYNC_JOBS_TOKEN (role consume), NAMESPACE, QUEUE, PLATFORM (its address). With IDLE_EXIT=1 it ends when the queue is
empty.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from base64 import b64decode
from decimal import Decimal
from typing import Any, Iterator
from urllib.parse import urlencode

ADSYNC, TOKEN = os.environ["ADSYNC_SERVER"], os.environ.get("ADSYNC_TOKEN", "")
JOBS, JOBS_TOKEN = os.environ["ADSYNC_JOBS_SERVER"], os.environ.get("ADSYNC_JOBS_TOKEN", "")
QUEUE = f"/api/{os.environ['NAMESPACE']}/{os.environ['QUEUE']}"
PLATFORM = os.environ["PLATFORM"]
ROWS_PER_PART = 1000


class HTTPError(Exception):
    """An answer with a status of 400 or more."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status, self.body = status, body


def call(method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    """Sends a request, and returns the JSON of its answer; None for an answer without any."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    if data is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        text = error.read()
        try:
            raise HTTPError(error.code, json.loads(text)) from None
        except ValueError:
            raise HTTPError(error.code, text.decode(errors="replace")) from None
    return json.loads(text) if text else None


def adsync(method: str, path: str, body: Any) -> Any:
    """Calls adsync's API."""
    return call(method, ADSYNC + path, body, {"Authorization": "Bearer " + TOKEN} if TOKEN else {})


# The platform


def pages(media: str, account: str, level: str, day: str, hourly: bool) -> Iterator[dict[str, Any]]:
    """Reads the pages of a day. The first item is the total, and each other one a row in adsync's words."""
    page, came, total = 1, 0, None
    while total is None or came < total:
        query = {"account": account, "level": level, "day": day, "hourly": int(hourly), "page": page}
        answer = within_limits(media, "report", account, PLATFORM + "/report?" + urlencode(query))
        if total is None:
            total = answer["total"]
            yield {"total": total}
        for theirs in answer["rows"]:
            came += 1
            # Money is decimal text: a float would lose exactness.
            cost = str(Decimal(theirs["cents"]) / 100)
            row = {"cost": cost, "impressions": theirs["shows"], "clicks": theirs["clicks"]}
            if level != "account":
                row["id"] = theirs["object"]
            if hourly:
                row["hour"] = theirs["hour"]
            yield row
        if not answer["rows"]:
            return  # complete names what is missing
        page += 1


# adsync's side


def within_limits(media: str, endpoint: str, account: str, url: str) -> Any:
    """Calls the platform once adsync grants the call, and reports it if the platform refuses it."""
    limits = {"media": media, "endpoint": endpoint, "account": account}
    while True:
        grant = adsync("POST", "/api/v1/grants", {**limits, "n": 1})
        if not grant["granted"]:
            time.sleep(grant["wait_ms"] / 1000)
            continue
        try:
            return call("GET", url)
        except HTTPError as error:
            if error.status != 429:
                raise
            adsync("POST", "/api/v1/grants/refusal", {**limits, "retry_after_ms": error.body.get("retry_after_ms", 0)})


def pull(job: dict[str, Any], report: str, level: str) -> None:
    """Pulls a day of a report at a level."""
    claim = adsync("POST", "/api/v1/pulls", {
        "media": job["media"], "account": job["account"], "report": report, "level": level, "day": job["part"],
        "run_id": job["run_id"],
    })
    path = f"/api/v1/pulls/{claim['id']}"
    items = pages(job["media"], job["account"], level, job["part"], report == "report_hourly")
    total, rows, parts = next(items)["total"], [], 0
    for row in items:
        rows.append(row)
        if len(rows) == ROWS_PER_PART:
            parts += 1
            adsync("PUT", f"{path}/parts/{parts}", {"rows": rows})
            rows = []
    if rows:
        parts += 1
        adsync("PUT", f"{path}/parts/{parts}", {"rows": rows})
    try:
        end = adsync("POST", f"{path}/complete", {"parts": parts, "total": total})
    except HTTPError as error:
        if error.status == 409 and "newer pull" in str(error.body):
            return  # A pull that began later has written the day.
        raise
    if end["state"] != "complete":
        raise RuntimeError(f"{report} by {level} is {end['state']}: {end.get('note', '')}")


def work() -> bool:
    """Does one job of the queue, and reports whether there was one."""
    headers = {"X-Token": JOBS_TOKEN}
    try:
        taken = call("GET", f"{JOBS}{QUEUE}?ttr=120&timeout=2&claim=true", headers=headers)
    except HTTPError as error:
        if error.status == 404:
            return False
        raise
    job = json.loads(b64decode(taken["data"]))
    params = job.get("params") or {}
    try:
        for report in params.get("reports", ["report_daily", "report_hourly"]):
            for level in params.get("levels", ["account"]):
                pull(job, report, level)
    except Exception as error:  # The job is tried again, as its task or its queue says.
        print(f"job {taken['job_id']}: {error}", file=sys.stderr, flush=True)
        nack = f"{JOBS}{QUEUE}/job/{taken['job_id']}/nack?claim={taken['claim']}"
        call("POST", nack, str(error), headers)
        return True
    call("DELETE", f"{JOBS}{QUEUE}/job/{taken['job_id']}", headers=headers)
    return True


if __name__ == "__main__":
    while work() or os.environ.get("IDLE_EXIT") != "1":
        pass
