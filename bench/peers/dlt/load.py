"""Loads accounts' reports of a day with dlt: each row is merged by its key into a table.

The benchmark runs it next to adsync. It reads an order from standard input and prints what it cost, both as JSON.
"""

import json
import os
import sys
import threading
import time

order = json.load(sys.stdin)
os.environ["EXTRACT__WORKERS"] = str(order["threads"])
os.environ["EXTRACT__MAX_PARALLEL_ITEMS"] = str(order["threads"] * 4)
os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"

import dlt  # noqa: E402: it reads the environment
import requests  # noqa: E402

FIELDS = [
    "cost", "view_count", "valid_click_count", "download_count", "install_count", "activated_count", "reg_pv",
    "conversions_count", "deep_conversions_count", "first_pay_count", "purchase_pv", "purchase_amount",
    "first_day_pay_amount", "payment_amount_activated_d3", "payment_amount_activated_d7", "retention_count",
    "first_day_pay_count", "order_pv", "order_amount",
]
LEVELS = {
    "adgroup": ("REPORT_LEVEL_ADGROUP", ["date", "adgroup_id"]),
    "creative": ("REPORT_LEVEL_DYNAMIC_CREATIVE", ["date", "adgroup_id", "dynamic_creative_id"]),
}
level, keys = LEVELS[order["level"]]
day = {"start_date": order["day"], "end_date": order["day"]}
local = threading.local()


def session():
    """Returns the thread's session, which keeps its connection."""
    if not hasattr(local, "session"):
        local.session = requests.Session()
    return local.session


def pages(account):
    number = last = 1
    while number <= last:
        answer = session().get(order["url"] + "/daily_reports/get", timeout=60, params={
            "access_token": account["token"], "timestamp": int(time.time()), "nonce": os.urandom(12).hex(),
            "account_id": account["id"], "level": level, "date_range": json.dumps(day), "group_by": json.dumps(keys),
            "fields": json.dumps(keys + FIELDS), "time_line": "REQUEST_TIME", "page": number, "page_size": 2000,
        }).json()
        if answer["code"] != 0:
            raise RuntimeError(f"account {account['id']}: {answer}")
        yield answer["data"]["list"]
        last = answer["data"]["page_info"]["total_page"]
        number += 1


@dlt.resource(selected=False)
def accounts():
    yield from order["accounts"]


@dlt.transformer(data_from=accounts, name="report", write_disposition="merge", primary_key=["account_id"] + keys)
@dlt.defer
def report(account):
    return [{"account_id": int(account["id"]), **row} for page in pages(account) for row in page]


pipeline = dlt.pipeline("report", pipelines_dir=order["dir"], dataset_name=order["dataset"],
                        destination=dlt.destinations.sqlalchemy(order["database"]))
began, used = time.monotonic(), time.process_time()
pipeline.run(report).raise_on_failed_jobs()
json.dump({"seconds": time.monotonic() - began, "cpu": time.process_time() - used}, sys.stdout)
