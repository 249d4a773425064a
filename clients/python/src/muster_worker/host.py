"""Describes the machine and the process: the fields of `register`, CPU time and memory."""

import os
import platform
import resource
import socket
import sys
from typing import Any


class Host:
    """The machine that this process runs on. Tests replace it."""

    def hardware(self) -> dict[str, Any]:
        """Returns the hardware fields of `register`."""
        ram_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        return {
            "cores": cores,
            "ram_gb": round(ram_bytes / 1024**3, 1),
            "hostname": socket.gethostname(),
            "kernel": f"{platform.system()} {platform.release()}",
        }

    def cpu_seconds(self) -> float:
        """Returns the CPU time of this process since its start."""
        times = os.times()
        return times.user + times.system

    def rss_bytes(self) -> int:
        """Returns the resident memory in bytes; without /proc, its maximum since the start."""
        try:
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return most if sys.platform == "darwin" else most * 1024
