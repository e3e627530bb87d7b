#!/usr/bin/env python3
"""The scheduler of a data warehouse, on adsync.

The warehouse has cubes, and each cube has a segment for each hour of data. This program keeps the segments complete: it
works the subtasks of three tasks, which are jobs of adsync's job queue.

  system.plan    looks for segments that are missing, or older than their data, and orders a build of each
  system.build   builds one segment: those of one cube one after the other, several cubes side by side
  system.backup  copies the warehouse, while nothing else runs

    planner.py tasks                      makes the three tasks
    planner.py work --warehouse FILE      works them until it is stopped

ADSYNC_SERVER is the address of a producer's API (http://127.0.0.1:8080), ADSYNC_TOKEN its token, ADSYNC_JOBS_SERVER
the address of the job queue (http://127.0.0.1:7777), and ADSYNC_JOBS_TOKEN a token of the namespace "warehouse". Both
tokens may be left out on a machine of your own, as with "adsync standalone".
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import signal
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing
from typing import Any, Callable

API = os.environ.get("ADSYNC_SERVER", "http://127.0.0.1:8080")
JOBS = os.environ.get("ADSYNC_JOBS_SERVER", "http://127.0.0.1:7777")
NAMESPACE = "warehouse"

TASKS: list[dict[str, Any]] = [
    {
        "name": "system.plan", "cron": "* * * * *", "overlap": "skip",
        "params": {"namespace": NAMESPACE, "queue": "plan", "ttr": 60},
    },
    {
        # It runs by order only. Its builds of one cube are one after the other, whichever task orders them.
        "name": "system.build", "cron": "0 0 1 1 *", "concurrency": "serial", "serial_key": "{cube}",
        "params": {"namespace": NAMESPACE, "queue": "build", "ttr": 60, "params": {"cube": "none"}},
    },
    {
        "name": "system.backup", "cron": "0 4 * * *", "concurrency": "exclusive", "exclusive_over": "everything",
        "params": {"namespace": NAMESPACE, "queue": "backup", "ttr": 600},
    },
]

TABLES = """
CREATE TABLE IF NOT EXISTS source (cube TEXT, hour TEXT, version INTEGER, PRIMARY KEY (cube, hour));
CREATE TABLE IF NOT EXISTS segment (cube TEXT, hour TEXT, version INTEGER, PRIMARY KEY (cube, hour));
CREATE TABLE IF NOT EXISTS ordered (cube TEXT, hour TEXT, version INTEGER, run_id TEXT, PRIMARY KEY (cube, hour));
CREATE TABLE IF NOT EXISTS work (id INTEGER PRIMARY KEY, kind TEXT, cube TEXT, hour TEXT, version INTEGER,
  began REAL, ready REAL, ended REAL);
"""


class Refused(Exception):
    """An answer that is not what was asked for."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


def request(method: str, url: str, token: str, body: bytes | None = None) -> bytes:
    """Sends a request. The queue takes the token as X-Token, and the API as a bearer token."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers |= {"X-Token": token, "Authorization": "Bearer " + token}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as refused:
        raise Refused(refused.code, refused.read().decode(errors="replace")) from refused


def api(method: str, path: str, body: Any = None) -> Any:
    """Calls the operators' API."""
    text = None if body is None else json.dumps(body).encode()
    answer = request(method, API + "/api/v1" + path, os.environ.get("ADSYNC_TOKEN", ""), text)
    return json.loads(answer) if answer else None


class Job:
    """A claimed job: a subtask."""

    def __init__(self, queue: str, answer: dict[str, Any]) -> None:
        self.path, self.claim = f"{queue}/job/{answer['job_id']}", answer["claim"]
        self.body: dict[str, Any] = json.loads(base64.b64decode(answer["data"]))
        self.state = base64.b64decode(answer.get("state") or "").decode()  # what the last release left

    def _send(self, method: str, path: str, body: str = "") -> None:
        jobs(method, path, body.encode())

    def done(self, rows: int) -> None:
        """The subtask has succeeded."""
        self._send("DELETE", f"{self.path}?rows={rows}")

    def failed(self, reason: str) -> None:
        """The subtask has failed: it is an attempt, and adsync tries again after the task's backoff."""
        self._send("POST", f"{self.path}/nack?claim={self.claim}", reason)

    def poll(self, seconds: int, state: str) -> None:
        """The work continues elsewhere: the job comes again after some seconds, with the state. No attempt counts."""
        self._send("POST", f"{self.path}/release?claim={self.claim}&delay={seconds}", state)


def jobs(method: str, path: str, body: bytes | None = None) -> bytes:
    """Calls the job queue."""
    return request(method, f"{JOBS}/api/{NAMESPACE}/{path}", os.environ.get("ADSYNC_JOBS_TOKEN", ""), body)


def consume(queue: str, seconds: int) -> Job | None:
    """Claims the next job of a queue; None if there is none within some seconds."""
    try:
        return Job(queue, json.loads(jobs("GET", f"{queue}?claim=true&timeout={seconds}")))
    except Refused as refused:
        if refused.status == 404:
            return None
        raise


class Warehouse:
    """The warehouse, and what this program notes in it. Each call has a connection of its own."""

    def __init__(self, file: str, build_seconds: float) -> None:
        self.file, self.build_seconds = file, build_seconds
        with closing(self.open()) as db:
            db.executescript("PRAGMA journal_mode = WAL;" + TABLES)

    def open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.file, timeout=30, isolation_level=None)

    def plan(self, job: Job) -> None:
        """Orders a build of each segment that is missing, or older than its data, unless one is under way."""
        orders = 0
        with closing(self.open()) as db:
            stale = db.execute(
                "SELECT s.cube, s.hour, s.version, o.run_id FROM source s"
                " LEFT JOIN segment g ON g.cube = s.cube AND g.hour = s.hour"
                " LEFT JOIN ordered o ON o.cube = s.cube AND o.hour = s.hour AND o.version = s.version"
                " WHERE g.version IS NULL OR g.version < s.version ORDER BY s.hour, s.cube").fetchall()
            for cube, hour, version, run_id in stale:
                if run_id and api("GET", "/runs/" + run_id)["state"] in ("pending", "fanning_out", "running"):
                    continue
                # The name makes the order repeatable: this job may be delivered twice.
                under = {"run_id": job.body["run_id"], "part": job.body["part"], "name": f"{cube} {hour} {version}"}
                order = api("POST", "/tasks/system.build/run", {
                    "scope": "all", "under": under,
                    "params": {"params": {"cube": cube, "hour": hour, "version": version}},
                })
                db.execute("INSERT OR REPLACE INTO ordered VALUES (?, ?, ?, ?)", (cube, hour, version, order["run_id"]))
                orders += 1
        job.done(orders)

    def build(self, job: Job) -> None:
        """Starts the build of a segment, or looks whether it is ready. Between two looks this worker is free."""
        p = job.body["params"]
        if p["cube"] == "none":  # A run of the task itself, without an order's params, builds nothing.
            job.done(0)
            return
        with closing(self.open()) as db:
            if not job.state:  # A job that is delivered twice starts two builds of one version, which is harmless.
                now = time.time()
                started = db.execute(
                    "INSERT INTO work (kind, cube, hour, version, began, ready) VALUES ('build', ?, ?, ?, ?, ?)",
                    (p["cube"], p["hour"], p["version"], now, now + self.build_seconds))
                job.poll(1, str(started.lastrowid))
                return
            ready, = db.execute("SELECT ready FROM work WHERE id = ?", (job.state,)).fetchone()
            if ready > time.time():
                job.poll(1, job.state)
                return
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT OR REPLACE INTO segment VALUES (?, ?, ?)", (p["cube"], p["hour"], p["version"]))
            db.execute("UPDATE work SET ended = ? WHERE id = ?", (time.time(), job.state))
            db.execute("COMMIT")
        job.done(1)

    def backup(self, job: Job) -> None:
        """Copies the warehouse."""
        with closing(self.open()) as db, closing(sqlite3.connect(self.file + ".backup")) as copy:
            began = db.execute("INSERT INTO work (kind, began) VALUES ('backup', ?)", (time.time(),))
            db.backup(copy)
            segments, = copy.execute("SELECT COUNT(*) FROM segment").fetchone()
            time.sleep(self.build_seconds)
            db.execute("UPDATE work SET ended = ? WHERE id = ?", (time.time(), began.lastrowid))
        job.done(segments)


def work(queue: str, do: Callable[[Job], None], stopped: threading.Event) -> None:
    """Works the jobs of a queue until the program is stopped."""
    while not stopped.is_set():
        job = None
        try:
            job = consume(queue, 1)
            if job:
                do(job)
        except Exception as problem:  # pylint: disable=broad-exception-caught
            print(f"{queue}: {problem}", file=sys.stderr, flush=True)
            try:
                if job:
                    job.failed(str(problem))
            except (Refused, OSError):
                pass  # The job comes again when its time to run has ended.
            stopped.wait(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tasks", help="make the three tasks")
    working = commands.add_parser("work", help="work the tasks' subtasks until stopped")
    working.add_argument("--warehouse", required=True, help="the warehouse's SQLite file")
    working.add_argument("--builders", type=int, default=4, help="how many builds are looked after at a time")
    working.add_argument("--build-seconds", type=float, default=0.5, help="how long a build takes")
    args = parser.parse_args()
    if args.command == "tasks":
        for task in TASKS:
            api("POST", "/tasks", {"media": "system", "handler": "system.external", "timezone": "UTC", **task})
            print("made", task["name"])
        return

    warehouse, stopped = Warehouse(args.warehouse, args.build_seconds), threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopped.set())
    workers = [("plan", warehouse.plan), ("backup", warehouse.backup)] + [("build", warehouse.build)] * args.builders
    threads = [threading.Thread(target=work, args=(*worker, stopped)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
