"""Processor time of calls: everybody runs on one thread, and time that neighbours take is not counted."""

from __future__ import annotations

import dataclasses
import statistics
import time

from peer import Repeated

SHORTEST = 0.003  # seconds of one measurement


class MoreThanOneThread(Exception):
    pass


@dataclasses.dataclass
class Stopwatch:
    """One call, measured once a round."""

    call: Repeated
    seconds: list[float] = dataclasses.field(default_factory=list)
    repeats: int = 0

    def measure(self) -> None:
        if self.repeats == 0:
            self.call(1)  # warms up
            self.repeats = 1
            while self._run(self.repeats) < SHORTEST:  # no single run decides: a disturbed one would end it too early
                self.repeats *= 2
            self.repeats = max(self.repeats, self.repeats_by(self._run(self.repeats)))
        self.seconds.append(self._run(self.repeats) / self.repeats)

    def repeats_by(self, seconds: float) -> int:
        return round(self.repeats * SHORTEST / max(seconds, 1e-9))

    def _run(self, repeats: int) -> float:
        wall, processor = time.perf_counter(), time.process_time()
        self.call(repeats)
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        if processor > 1.2 * wall + 0.0005:
            raise MoreThanOneThread(f"{processor:.4f} s of processor time in {wall:.4f} s")
        return processor

    def median(self) -> float:
        return statistics.median(self.seconds)


def ratio(one: Stopwatch, other: Stopwatch) -> float:
    """Median over the rounds of one's time to the other's in the same round."""
    return statistics.median(a / b for a, b in zip(one.seconds, other.seconds))
