"""The script that somebody writes on an afternoon: reads two exports, indexes both by key and compares.

It keeps nothing, checks nothing and sends nothing, so it is the least that working out a plan can cost in a
script. Prints what it found, how long that took and how much memory it needed, as one JSON document.
"""

import csv
import json
import os
import resource
import sys
import time

KEY = "Worker ID"


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row[KEY]: row for row in csv.DictReader(file)}


def peak_kib():
    # What getrusage tells includes the process that started this one.
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


previous, current = read(sys.argv[1]), read(sys.argv[2])
joined = [key for key in current if key not in previous]
left = [key for key in previous if key not in current]
changed = [key for key, row in current.items() if key in previous and previous[key] != row]
# What started this process says when: the clock of everything that is compared with it counts from the start as well.
seconds = time.time() - int(os.environ["BENCH_STARTED_MS"]) / 1000
cpu_seconds = time.process_time()

found = {"joined": len(joined), "changed": len(changed), "left": len(left)}
print(json.dumps({"count": len(current), "seconds": seconds, "cpuSeconds": cpu_seconds, "peakMiB": peak_kib() / 1024, "found": found}))
