"""`jit`: numba's compiler with a cache on disk where one can be written, and a word to the user when it has to compile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import config, event, types
from numba.extending import intrinsic

_told = False


class _Announcer(event.Listener):
    """Says once a process, on stderr, that a function of this package is being compiled."""

    def on_start(self, event: event.Event) -> None:
        global _told
        function = getattr((event.data or {}).get("dispatcher"), "py_func", None)
        if not _told and getattr(function, "__module__", "").startswith("napoleon_env"):
            _told = True
            print("napoleon_env: compiling the rules, once for this machine (some seconds) ...", file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """Nothing to say."""


event.register("numba:compile", _Announcer())


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use and keep the machine code on disk; without a writable place, in memory alone."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # numba found neither the package's folder nor a user's cache folder writable
        return numba.njit(function)


def as_records(rows: np.ndarray) -> np.ndarray:
    """The same memory with one record for each row, (n, width) to (n,): `records[i]["row"]` in place of `rows[i]`.

    Compiled code counts references to a row that it takes from an array, each time two locked instructions, which take as long
    as writing a short row; to a record it counts none.
    """
    return rows.view(np.dtype([("row", rows.dtype, rows.shape[1:])]))[:, 0]


def _type_cttz(context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _type_ctpop(context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


def _type_ctlz(context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


cttz: Any = intrinsic(_type_cttz)
"""The processor's count of trailing zeros, inside compiled functions alone."""
ctlz: Any = intrinsic(_type_ctlz)
"""The processor's count of leading zeros, inside compiled functions alone."""
ctpop: Any = intrinsic(_type_ctpop)
"""The processor's count of set bits, inside compiled functions alone."""


def _lowest_bit(mask: int) -> int:
    return (int(mask) & -int(mask)).bit_length() - 1


def _highest_bit(mask: int) -> int:
    return int(mask).bit_length() - 1


def _count_bits(mask: int) -> int:
    return int(mask).bit_count()


@jit
def _compiled_lowest_bit(mask: int) -> int:
    return cttz(mask)


@jit
def _compiled_highest_bit(mask: int) -> int:
    return 63 - ctlz(mask)


@jit
def _compiled_count_bits(mask: int) -> int:
    return ctpop(mask)


UNCOMPILED = bool(getattr(config, "DISABLE_JIT", False))
lowest_bit: Callable[[int], int] = _lowest_bit if UNCOMPILED else _compiled_lowest_bit
"""The number of the lowest bit set in a mask that is not 0."""
highest_bit: Callable[[int], int] = _highest_bit if UNCOMPILED else _compiled_highest_bit
"""The number of the highest bit set in a mask that is not 0."""
count_bits: Callable[[int], int] = _count_bits if UNCOMPILED else _compiled_count_bits
"""How many bits of a mask are set."""
