"""Runs Muster workers in Python: declare a function with `batch` or `continuous`, and pass it to `run`."""

from .auto_renewed_lease import Claim, Lock
from .context import BlockingContext, Context
from .errors import LeaseLost, Permanent, RetryIn, RpcError
from .run import batch, continuous, run
from .worker import Automation

__all__ = [
    "Automation",
    "BlockingContext",
    "Claim",
    "Context",
    "LeaseLost",
    "Lock",
    "Permanent",
    "RetryIn",
    "RpcError",
    "batch",
    "continuous",
    "run",
]
