# compare.py - runs a session for each number of threads and keeps the record
#
# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the peers' environment; bench/compare/run starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import command_line
import machine
import table_text

SESSION = Path(__file__).resolve().parent / "session.py"
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "SDPA_NUM_THREADS",
)


def session(arguments, threads, take):
    """Gives each object that the session writes to take(). Returns whether it came to its end."""
    job = {
        "library": str(arguments.library),
        "threads": threads,
        "peers": arguments.peers,
        "problems": [shape.problem for shape in arguments.shapes],
        "seconds": arguments.seconds,
    }
    environment = os.environ | {name: str(threads) for name in THREAD_VARIABLES}
    with subprocess.Popen(
        [sys.executable, "-B", str(SESSION)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        json.dump(job, process.stdin)
        process.stdin.close()
        for line in process.stdout:
            take(json.loads(line))
    return process.returncode == 0


def ceilings(arguments):
    """What each thread count can do at best, where the library's build has sdpa-bench."""
    bench = command_line.find_bench(arguments.library)
    found = [machine.peak(bench, threads) for threads in arguments.threads] if bench else []
    return [peak for peak in found if peak]


def run(arguments):
    """The record, and whether every session came to its end."""
    command = " ".join(["bench/compare/run", *sys.argv[1:]])
    record = {"date": machine.today(), "command": command, "machine": machine.describe()}
    record["seconds"] = arguments.seconds
    record["load_average"] = [os.getloadavg()[0]]
    record["ceilings"] = ceilings(arguments)
    record["versions"], record["results"], complete = {}, [], True
    print(table_text.head(command_line.PEERS[peer] for peer in arguments.peers), flush=True)

    def take(line):
        if "problem" not in line:
            record["versions"] = line
            return
        record["results"].append(line)
        print(table_text.row(line, arguments.peers), flush=True)

    for threads in arguments.threads:
        complete = session(arguments, threads, take) and complete
    record["load_average"].append(os.getloadavg()[0])
    return record, complete


def write(record, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1) + "\n"
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def main():
    arguments = command_line.parse(sys.argv[1:])
    record, complete = run(arguments)
    results = record["results"]
    if not results:
        print("bench/compare/run: nothing was measured; no record is written", file=sys.stderr)
        return 1
    write(record, arguments.json)
    peers = {peer: command_line.PEERS[peer] for peer in arguments.peers}
    print(f"\n{table_text.NOTE}\n\n{table_text.closing(results, peers)}")
    print(f"\nwritten: {os.path.relpath(arguments.json)}")
    wrong = [result["problem"] for result in results if not table_text.is_right(result)]
    for problem in wrong:
        print(f"bench/compare/run: {problem}: results differ", file=sys.stderr)
    if not complete:
        print("bench/compare/run: a session ended early", file=sys.stderr)
    return 1 if wrong or not complete else 0


if __name__ == "__main__":
    sys.exit(main())
