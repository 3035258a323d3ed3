"""The value that describes one kernel: its CUDA C++ text and how to launch it."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

THREADS = 256
"""Threads of a block, in every kernel."""
MOST_BLOCKS = 1 << 16
"""Blocks of a grid at most. Every kernel strides over its grid, so a smaller grid does the same work."""
_RESIDENT = 4
"""Blocks that a multiprocessor holds at least, so at most 64 registers a thread. Without this number the assembler keeps some
kernels to 32 registers, and spills."""
_NAME = "ISOVIZ_KERNEL"


class KernelSource(NamedTuple):
    """One kernel: a self-contained CUDA C++ text, and its launch.

    The signature of each kernel is `(const unsigned char* source, unsigned char* destination, long long source_offset_0, long
    long destination_offset_0, long long source_offset_1, …)`, with one pair of offsets in bytes for each of the `copies` that the
    kernel carries out, and further numbers (long long) for some kernels. `arguments` are the values of all of these numbers.

    - `name`: the `extern "C"` name in `code`. Copies of equal shape have equal texts and names.
    - `block`, `grid`: threads of a block and blocks of the grid. Any smaller grid of one dimension is right as well.
    - `shared`: bytes of dynamic shared memory.
    - `copies`: the number of copies, each with its pair of offsets.
    - `nbytes`: bytes that the kernel moves.
    """

    name: str
    code: str
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    shared: int
    arguments: tuple[int, ...]
    copies: int
    nbytes: int

    def moved(self, source: int, destination: int) -> KernelSource:
        """The kernel with `source` and `destination` added to its offsets, in bytes."""
        pairs = 2 * self.copies
        moved = (at + (destination if k % 2 else source) for k, at in enumerate(self.arguments[:pairs]))
        return self._replace(arguments=(*moved, *self.arguments[pairs:]))


def kernel_source(
    what: str, body: str, blocks: int, pairs: list[tuple[int, int]], nbytes: int, numbers: dict[str, int] | None = None
) -> KernelSource:
    """The kernel with the statements `body`. `pairs` are the offsets (source, destination) of its copies.

    `what` begins the name, which ends in a digest of the text. `numbers` are further arguments, by the names of their parameters.
    """
    numbers = numbers or {}
    parameters = "".join(f", long long s{p}, long long d{p}" for p in range(len(pairs)))
    parameters += "".join(f", long long {name}" for name in numbers)
    text = (
        f'{PRELUDE}\nextern "C" __global__ void __launch_bounds__({THREADS}, {_RESIDENT})\n{_NAME}(const b1* __restrict__ source,'
        f" b1* __restrict__ destination{parameters}) {{\n{body}}}\n"
    )
    name = f"isoviz_{what}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return KernelSource(
        name,
        text.replace(_NAME, name),
        (THREADS, 1, 1),
        (max(1, min(blocks, MOST_BLOCKS)), 1, 1),
        0,
        (*(offset for pair in pairs for offset in pair), *numbers.values()),
        len(pairs),
        nbytes,
    )


PRELUDE = """\
#ifndef ISOVIZ_PRELUDE
#define ISOVIZ_PRELUDE
typedef unsigned char b1;
typedef unsigned short b2;
typedef unsigned int b4;
// 16 bytes in four registers. `load` and `store` use accesses of N bytes.
struct Slot { b4 w[4]; };
template <int N> __device__ __forceinline__ void load_part(Slot& s, int j, const b1* from) {
  if constexpr (N == 16) { const uint4 v = *(const uint4*)from; s.w[0] = v.x; s.w[1] = v.y; s.w[2] = v.z; s.w[3] = v.w; }
  else if constexpr (N == 8) { const uint2 v = *(const uint2*)from; s.w[2 * j] = v.x; s.w[2 * j + 1] = v.y; }
  else if constexpr (N == 4) s.w[j] = *(const b4*)from;
  else if constexpr (N == 2) s.w[j / 2] |= (b4)*(const b2*)from << 16 * (j % 2);
  else s.w[j / 4] |= (b4)*from << 8 * (j % 4);
}
template <int N> __device__ __forceinline__ void store_part(const Slot& s, int j, b1* to) {
  if constexpr (N == 16) *(uint4*)to = make_uint4(s.w[0], s.w[1], s.w[2], s.w[3]);
  else if constexpr (N == 8) *(uint2*)to = make_uint2(s.w[2 * j], s.w[2 * j + 1]);
  else if constexpr (N == 4) *(b4*)to = s.w[j];
  else if constexpr (N == 2) *(b2*)to = (b2)(s.w[j / 2] >> 16 * (j % 2));
  else *to = (b1)(s.w[j / 4] >> 8 * (j % 4));
}
template <int N> __device__ __forceinline__ void load(Slot& s, const b1* from) {
  if constexpr (N < 4) s.w[0] = s.w[1] = s.w[2] = s.w[3] = 0;
#pragma unroll
  for (int j = 0; j < 16 / N; ++j) load_part<N>(s, j, from + j * N);
}
template <int N> __device__ __forceinline__ void store(const Slot& s, b1* to) {
#pragma unroll
  for (int j = 0; j < 16 / N; ++j) store_part<N>(s, j, to + j * N);
}
template <int N> __device__ __forceinline__ void move(b1* to, const b1* from) {
  if constexpr (N == 16) *(uint4*)to = *(const uint4*)from;
  else if constexpr (N == 8) *(uint2*)to = *(const uint2*)from;
  else if constexpr (N == 4) *(b4*)to = *(const b4*)from;
  else if constexpr (N == 2) *(b2*)to = *(const b2*)from;
  else *to = *from;
}
// 16 bytes from an address that is a multiple of A, out of the one or two aligned slots that hold them.
template <int A> __device__ __forceinline__ void load_across(Slot& s, const b1* from) {
  const int a = (int)((size_t)from & 15);
  const uint4 x = *(const uint4*)(from - a), y = *(const uint4*)(from + (a ? 16 - a : 0));
  b4 v[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
  if constexpr (A <= 8) {
#pragma unroll
    for (int k = 0; k < 6; ++k) v[k] = a & 8 ? v[k + 2] : v[k];
  }
  if constexpr (A <= 4) {
#pragma unroll
    for (int k = 0; k < 5; ++k) v[k] = a & 4 ? v[k + 1] : v[k];
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) s.w[k] = A < 4 ? __funnelshift_r(v[k], v[k + 1], 8 * (a & 3)) : v[k];
}
// Bytes `begin` up to `end` of a slot, multiples of U, with the widest accesses.
template <int U, int N = 16, int J = 0> __device__ __forceinline__ void store_some(const Slot& s, b1* to, int begin, int end) {
  if (begin <= J && end >= J + N) store_part<N>(s, J / N, to + J);
  else if constexpr (N > U) {
    if (begin < J + N / 2 && end > J) store_some<U, N / 2, J>(s, to, begin, end);
    if (begin < J + N && end > J + N / 2) store_some<U, N / 2, J + N / 2>(s, to, begin, end);
  }
}
// The units with number i (of 4 / N) of all words, in their order.
template <int N> __device__ __forceinline__ Slot sorted(const b4* words, int i) {
  Slot s;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (N == 2) s.w[k] = __byte_perm(words[2 * k], words[2 * k + 1], i ? 0x7632 : 0x5410);
    else {
      const b4 low = __byte_perm(words[4 * k], words[4 * k + 1], 0x40 + 0x11 * i);
      const b4 high = __byte_perm(words[4 * k + 2], words[4 * k + 3], 0x40 + 0x11 * i);
      s.w[k] = __byte_perm(low, high, 0x5410);
    }
  }
  return s;
}
#endif
"""
