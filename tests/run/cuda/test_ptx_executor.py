"""The executor of PTX notices each kind of mistake that a kernel can make. Each case is a kernel of a few lines."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from ptx_executor import Executor, FaultError
from ptx_program import Program, UnknownInstructionError, programs

from isoviz.backends.cuda.kernels import nvrtc

SIGNATURE = 'extern "C" __global__ void k{}(const unsigned char* source, unsigned char* destination, long long n)'
WORDS = "const int t = threadIdx.x; int* out = (int*)destination; const int* in = (const int*)source;"
BODIES = {
    "right": "out[t] = in[t];",
    "right, loaded too early": "__shared__ int s[256]; if (n < 0) s[t] = 1; int v = s[255 - t]; out[t] = n > 0 ? in[t] : v;",
    "right, a part is stored": """__shared__ unsigned char s[1024]; s[4 * t + 1] = source[4 * t + 2]; __syncthreads();
        const unsigned v = ((unsigned*)s)[t]; out[t] = in[t] & 0xFF00FFFFu | (v & 0xFF00u) << 8;""",
    "right, and with nothing": "__shared__ int s[256]; if (n < 0) s[t] = 1; out[t] = in[t] | (s[t] & (int)(n - 1));",
    "load outside": "out[t] = in[t + 1];",
    "load before": "out[t] = in[t - 1];",
    "store outside": "out[t + (t == 255)] = in[t];",
    "store into the source": "((int*)source)[t] = 1;",
    "load not aligned": "out[t] = *(const int*)(source + t);",
    "stored twice": "out[t / 2] = in[t];",
    "no such shared": "__shared__ int s[256]; s[t + n] = in[t]; __syncthreads(); out[t] = s[t];",
    "nobody stored": "__shared__ int s[256]; if (t) s[t] = in[t]; __syncthreads(); out[t] = s[t];",
    "read after write": "__shared__ int s[256]; s[t] = in[t]; out[t] = s[255 - t];",
    "write after read": "__shared__ int s[256]; s[t] = in[t]; __syncthreads(); int v = s[255 - t]; s[t] = v + 1; out[t] = s[t];",
    "write after write": "__shared__ int s[256]; s[t / 2] = in[t]; __syncthreads(); out[t] = s[t / 2];",
    "not all at the barrier": "if (t > 3) { __syncthreads(); } out[t] = in[t];",
    "division by zero": "out[t] = in[t] / (int)n;",
    "address in doubt": "__shared__ int s[256]; if (t) s[t] = t; __syncthreads(); out[s[t] & 255] = in[t];",
    "condition in doubt": "__shared__ int s[256]; if (t) s[t] = t; __syncthreads(); if (s[t] > 3) { out[t] = in[t]; }",
    "a part in doubt": """__shared__ unsigned char s[1024]; s[4 * t + 1] = source[4 * t + 2]; __syncthreads();
        out[t] = ((int*)s)[t] >> 1;""",
}
SAID = {
    "load outside": "load outside the source",
    "load before": "load outside the source",
    "store outside": "store outside the destination",
    "store into the source": "store outside the destination",
    "load not aligned": "load from global memory is not aligned",
    "stored twice": "byte of the destination stored twice",
    "no such shared": "access outside shared memory",
    "nobody stored": "a stored value depends on .*nobody stored",
    "read after write": "a stored value depends on a race|race: ",
    "address in doubt": "an address depends on .*nobody stored",
    "condition in doubt": "a condition depends on .*nobody stored",
    "a part in doubt": "a stored value depends on .*nobody stored",
    "write after read": "race",
    "write after write": "race",
    "not all at the barrier": "a barrier is not reached by all threads",
    "division by zero": "division by zero",
}


@pytest.fixture(scope="module")
def found(needs_nvrtc: None) -> dict[str, Program]:
    texts = [f"{SIGNATURE.format(number)} {{ {WORDS} {body} }}" for number, body in enumerate(BODIES.values())]
    kernels = programs(nvrtc.compiled("\n".join(texts), "compute_80")[0].decode())
    return {what: kernels[f"k{number}"] for number, what in enumerate(BODIES)}


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_mistakes_are_noticed(executor: Executor, found: dict[str, Program], what: str, seed: int) -> None:
    source = np.arange(256, dtype=np.int32).view(np.uint8)
    destination = np.zeros(1024, np.uint8)
    arguments = {"no such shared": 1, "division by zero": 0}
    right = what.startswith("right")
    with contextlib.nullcontext() if right else pytest.raises(FaultError, match=SAID[what]):
        executor.launch(found[what], source, destination, (arguments.get(what, 1),), 1, seed=seed)
    assert not right or np.array_equal(source, destination)


def test_unknown_instructions_are_errors(needs_nvrtc: None) -> None:
    body = "out[t] = __shfl_xor_sync(0xffffffffu, in[t], 1);"
    with pytest.raises(UnknownInstructionError, match=r"line \d+: shfl\.sync"):
        programs(nvrtc.compiled(f"{SIGNATURE.format('')} {{ {WORDS} {body} }}", "compute_80")[0].decode())


def test_wrong_number_of_arguments(executor: Executor, found: dict[str, Program]) -> None:
    room = np.zeros(1024, np.uint8)
    with pytest.raises(FaultError, match="2 arguments for 3 parameters"):
        executor.launch(found["right"], room, room, (), 1)


def test_arithmetic(executor: Executor) -> None:
    """Values that a wrong width or sign would change, against the same in Python."""
    lines = {
        "a * b": lambda a, b: a * b,
        "(long long)a * b >> 7": lambda a, b: a * b >> 7,
        "(int)(a / 7)": lambda a, b: int(abs(a) // 7) * (1 if a >= 0 else -1),
        "(int)((unsigned)a % 13u)": lambda a, b: a % 2**32 % 13,
        "(int)((unsigned long long)(long long)a / 1000003ull)": lambda a, b: a % 2**64 // 1000003,
        "(short)a >> 3": lambda a, b: ((a + 2**15) % 2**16 - 2**15) >> 3,
        "(signed char)b": lambda a, b: (b + 128) % 256 - 128,
        "a < b ? a : -b": lambda a, b: a if a < b else -b,
        "(int)((unsigned)a << (b & 31))": lambda a, b: a << (b & 31),
    }
    outs = "".join(f"out[t * {len(lines)} + {n}] = (int)({text});" for n, text in enumerate(lines))
    kernel = f"{SIGNATURE.format('')} {{ {WORDS} const int a = in[2 * t], b = in[2 * t + 1]; {outs} }}"
    program = programs(nvrtc.compiled(kernel, "compute_80")[0].decode())["k"]
    values = np.random.default_rng(3).integers(-(2**31), 2**31, 512).astype(np.int32)
    destination = np.zeros(256 * len(lines) * 4, np.uint8)
    executor.launch(program, values.view(np.uint8), destination, (0,), 1)
    pairs = [(int(a), int(b)) for a, b in values.reshape(-1, 2)]
    expected = [[(f(a, b) + 2**31) % 2**32 - 2**31 for f in lines.values()] for a, b in pairs]
    assert destination.view(np.int32).reshape(256, -1).tolist() == expected
