"""Calculates how many leases to hold beyond the free slots: what the slots take in two round trips, up to 4 each."""

_MAX_PER_SLOT = 4
_WINDOW_SECONDS = 0.02
_WEIGHT = 0.5


def max_prefetched(slots: int) -> int:
    """Returns the maximum number of prefetched leases for `slots` slots."""
    return _MAX_PER_SLOT * slots


class Prefetch:
    """Measures the rate of the slots and the round trip of a reserve, as moving averages."""

    def __init__(self, now: float) -> None:
        self._taken_per_second = self._round_trip = 0.0
        self._taken = 0
        self._since = now

    def depth(self, slots: int) -> int:
        """Returns the number of leases to prefetch for `slots` slots at their current rate."""
        return min(max_prefetched(slots), int(2 * self._round_trip * self._taken_per_second))

    def taken(self) -> None:
        """Records that a slot took a task."""
        self._taken += 1

    def record_response(self, now: float, took: float, *, full: bool) -> None:
        """Records a reserve that took `took` seconds. `full`: it returned as many tasks as requested."""
        if full:
            self._round_trip += _WEIGHT * (took - self._round_trip)
        elapsed = now - self._since
        if elapsed < _WINDOW_SECONDS:
            return
        self._taken_per_second += _WEIGHT * (self._taken / elapsed - self._taken_per_second)
        self._taken = 0
        self._since = now
