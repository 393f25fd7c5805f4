# rounds.py - interleaved timing and what is told of it
#
# SPDX-License-Identifier: BSD-3-Clause
"""Calls take turns, in an order that rotates, so that a noisy machine disturbs all of them alike.

A ratio belongs to a round: both of its times were taken within moments of each other. Standard
library only.
"""

import math
import time
from itertools import repeat
from statistics import median

SAMPLE_S = 0.005
ROUNDS_MIN, ROUNDS_STABLE_MIN, ROUNDS_MAX = 3, 11, 301
STABLE_WITHIN = 0.02


def wait_until_quiet(limit_s=0.5):
    """Returns when no thread of this process works any more, or after limit_s.

    The pools of BLAS, OpenMP and others wait actively for up to 0.1 s after a call, and would take
    a core from whatever is measured next.
    """
    end = time.perf_counter() + limit_s
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(0.002)
        if time.process_time() - before < 0.0002:
            return


def seconds_of(call, times):
    """Seconds a call, of `times` calls in a row."""
    start = time.perf_counter()
    for _ in repeat(None, times):
        call()
    return (time.perf_counter() - start) / times


def sample(call, times):
    wait_until_quiet()
    # The caches hold what the others used; where a sample is one long call that is nothing.
    if times > 1:
        call()
    return seconds_of(call, times)


def calls_per_sample(call):
    """How many calls a sample needs to be long against the clock and the loop."""
    if seconds_of(call, 1) >= 4 * SAMPLE_S:
        return 1
    once = min(seconds_of(call, 1) for _ in range(2))
    return max(1, math.ceil(SAMPLE_S / max(once, 1e-9)))


def interleave(calls, seconds, base, rounds_max=ROUNDS_MAX):
    """Samples of each call by its name, as many of each: {name: [seconds a call, ...]}.

    `seconds` limit the whole; a round that has begun is finished and there are at least ROUNDS_MIN.
    Ends earlier when every ratio to `base` is known within STABLE_WITHIN.
    """
    times = {name: calls_per_sample(call) for name, call in calls.items()}
    samples = {name: [] for name in calls}
    names = list(calls)
    end = time.perf_counter() + seconds
    for number in range(rounds_max):
        if number >= ROUNDS_MIN and time.perf_counter() > end:
            break
        if number >= ROUNDS_STABLE_MIN and all(
            is_stable(ratios(samples[name], samples[base])) for name in names
        ):
            break
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            samples[name].append(sample(calls[name], times[name]))
    return samples


def ratios(samples, base):
    return [one / other for one, other in zip(samples, base, strict=True)]


def is_stable(values):
    """Whether the 95 % confidence interval of the median, from the order of the values alone, lies
    within STABLE_WITHIN of it."""
    count = len(values)
    # Half the numbers' normal approximation: the rank-th smallest and the rank-th largest.
    rank = math.floor((count - 1.96 * math.sqrt(count)) / 2)
    if rank < 1:
        return False
    ordered, middle = sorted(values), median(values)
    return ordered[rank - 1] >= middle * (1 - STABLE_WITHIN) and ordered[-rank] <= middle * (
        1 + STABLE_WITHIN
    )


def summary(samples, base):
    """What the record holds of one call's samples; ratio > 1: slower than base."""
    against = ratios(samples, base)
    return {
        "median_s": median(samples),
        "min_s": min(samples),
        "ratio": median(against),
        "rounds": len(samples),
        "stable": is_stable(against) if samples is not base else is_stable(samples),
    }
