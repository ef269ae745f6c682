"""The script that somebody writes on an afternoon for the same job: reads the export, compares it with what it sent before, and
sends the differences in batches of 1,000.

It keeps what it sent in one file, checks nothing and repeats only what the platform's limit refused. Prints how long that took,
how many people it sent and how much memory it needed, as one JSON document.
"""

import csv
import datetime
import json
import os
import resource
import sys
import time
import urllib.error
import urllib.request

KEY = "Worker ID"
FIELDS = {
    "identityId": KEY,
    "email": "Work Email",
    "firstName": "First Name",
    "lastName": "Last Name",
    "jobTitle": "Job Title",
    "managerId": "Manager ID",
    "managerName": "Manager Name",
    "startedAt": "Hire Date",
}
export, state, url = sys.argv[1:4]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row[KEY]: row for row in csv.DictReader(file)}


def record(row, left_at):
    fields = {name: row[column] or None for name, column in FIELDS.items()}
    return fields | {"isContractor": row["Contractor"] == "yes", "separatedAt": left_at}


def send(batch):
    request = urllib.request.Request(url, json.dumps(batch).encode(), {"Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            time.sleep(int(error.headers["Retry-After"]))


def peak_kib():
    # What getrusage tells includes the process that started this one.
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


current = read(export)
try:
    with open(state, encoding="utf-8") as file:
        previous = json.load(file)
except FileNotFoundError:
    previous = {}
now = datetime.datetime.now(datetime.timezone.utc).isoformat()
records = [record(row, row["Termination Date"] or None) for key, row in current.items() if previous.get(key) != row]
records += [record(row, now) for key, row in previous.items() if key not in current]
for first in range(0, len(records), 1000):
    send(records[first : first + 1000])
with open(state, "w", encoding="utf-8") as file:
    json.dump(current, file)

seconds = time.time() - int(os.environ["BENCH_STARTED_MS"]) / 1000
measured = {"count": len(records), "seconds": seconds, "cpuSeconds": time.process_time(), "peakMiB": peak_kib() / 1024}
print(json.dumps(measured))
