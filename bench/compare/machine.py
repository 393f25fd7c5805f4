# machine.py - what a record says about where and when it was made
#
# SPDX-License-Identifier: BSD-3-Clause
"""Standard library only. Nothing that names the machine or its user."""

import datetime
import json
import os
import platform
import subprocess


def _cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.lower().startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe():
    return {
        "cpu": _cpu_model(),
        "architecture": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
    }


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def peak(bench, threads):
    """The line of sdpa-bench --peak --json with its thread count; None where it cannot be had."""
    command = [bench, "--peak", "--json", "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    return {"threads": threads} | json.loads(done.stdout)
