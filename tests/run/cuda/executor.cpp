// Executes PTX; see ptx_executor.py, which puts in the operations, and ptx_operations.py, which says how bits go through them.
// `seen`: how often each thread came by an instruction, so that accesses of a warp at one time are found together.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <vector>
namespace {
struct Thread { std::vector<uint64_t> r, doubts; int64_t pc; int state; bool doubted; };
struct Byte { uint32_t writer, written, reader, read; };  // threads + 1 and the barriers before; reader ~0: several
struct Access { uint32_t at, width; };
bool races, counting; const char* what;
uint64_t source, source_end, destination, destination_end; uint8_t* stored;
uint64_t executed; uint8_t* room; uint32_t room_size, epoch; std::vector<Byte> bytes;
std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<uint32_t, Access>>> accesses;
std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<uint64_t, uint64_t>>> far[2];  // loads and stores: first, end
std::vector<std::map<int64_t, int64_t>> seen;
uint64_t* doubts; bool doubted;  // of the thread that runs: the doubtful bits of each register, and whether there may be some
int fail(const char* text) { what = text; return false; }
void counted(bool stores, uint64_t at, unsigned n, uint32_t me, int64_t pc) {
  far[stores][{pc, seen[me][pc]++ * 64 + me / 32}].push_back({at, at + n});
}
__attribute__((noinline)) bool source_ok(uint64_t at, unsigned n, uint32_t me, int64_t pc) {
  if (counting) counted(false, at, n, me, pc);
  if (at % n) return fail("load from global memory is not aligned");
  if (at < source || at + n > source_end) return fail("load outside the source");
  return true;
}
__attribute__((noinline)) bool destination_ok(uint64_t at, unsigned n, uint32_t me, int64_t pc) {
  if (counting) counted(true, at, n, me, pc);
  if (at % n) return fail("store to global memory is not aligned");
  if (at < destination || at + n > destination_end) return fail("store outside the destination");
  if (stored) for (unsigned k = 0; k < n; ++k) if (stored[at - destination + k]++) return fail("byte of the destination stored twice");
  return true;
}
__attribute__((noinline)) bool shared_ok(uint32_t at, unsigned n, uint32_t me, bool writes, int64_t pc) {
  if (at % n) return fail("shared access is not aligned");
  if (at < SHARED_AT || at + n > SHARED_AT + room_size) return fail("access outside shared memory");
  if (counting) accesses[{pc, seen[me][pc]++ * 64 + me / 32}].push_back({me % 32, {at, n}});
  if (races) for (unsigned k = 0; k < n; ++k) {
    Byte& b = bytes[at - SHARED_AT + k];
    const bool written_now = b.writer && b.written == epoch && b.writer != me + 1;
    if (writes) {
      if (written_now) return fail("race: shared memory that another thread wrote since the last barrier");
      if (b.reader && b.read == epoch && b.reader != me + 1) return fail("race: shared memory that another thread read since the last barrier");
      b.writer = me + 1; b.written = epoch;
    } else {
      doubted |= !b.writer || written_now;
      b.reader = b.reader && b.read == epoch && b.reader != me + 1 ? ~0u : me + 1; b.read = epoch;
    }
  }
  return true;
}
uint64_t doubts_of(uint32_t at, unsigned n, uint32_t me) {
  uint64_t bits = 0;
  for (unsigned k = 0; k < n; ++k) {
    const Byte& b = bytes[at - SHARED_AT + k];
    if (!b.writer || (b.written == epoch && b.writer != me + 1)) bits |= 255ull << 8 * k;
  }
  return bits;
}
uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t both = (uint64_t)b << 32 | a; uint32_t d = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t s = c >> 4 * k & 15; uint32_t v = both >> 8 * (s & 7) & 255;
    if (s & 8) v = v & 128 ? 255 : 0;
    d |= v << 8 * k;
  }
  return d;
}
#define V(x) ((x) >= 0 ? R[x] : constants[~(x)])
#define A V(I[7])
#define B V(I[8])
#define C V(I[9])
#define E V(I[4])
#define D(x) R[I[3]] = (x)
// An operation moves `pc` on, or returns how the thread goes on.
#define OPERATION(n) int op##n(const int64_t* const I, uint64_t* const R, const uint64_t* const constants, const uint32_t me, int64_t& pc)
enum { FAILED = 0, BARRIER = 1, ENDED = 2, SLICE = 3, NEXT = 4 };
OPERATIONS
typedef int (*Operation)(const int64_t*, uint64_t*, const uint64_t*, uint32_t, int64_t&);
const Operation operations[] = {TABLE};
enum Kind { GOES, LOADS, STORES, MOVES, CHOOSES, ANDS, ORS, MIXES };
struct Flow { Kind kind; int uses[6], makes[6], data[6]; uint64_t bits; };
const Flow flows[] = {FLOWS};
bool in(const int* columns, int column) {
  while (*columns >= 0 && *columns != column) ++columns;
  return *columns >= 0;
}
const char* const ON = "depends on a race, or on shared memory that nobody stored";
char said[200];
bool unsure(const char* of) { snprintf(said, sizeof said, "%s %s", of, ON); return fail(said); }
// The doubts of the results of an operation, before it is carried out. False: a doubtful bit is used.
bool doubts_follow(const int64_t* I, const uint64_t* R, const uint64_t* constants, uint32_t me, uint64_t* to) {
  const Flow& flow = flows[I[0]]; uint64_t any = 0;
  #define Q(x) ((x) >= 0 ? doubts[x] : 0)
  if (flow.kind == GOES) return true;
  if ((flow.kind == LOADS || flow.kind == STORES) && Q(I[7])) return unsure("an address");
  for (const int* c = flow.uses; *c >= 0; ++c) any |= Q(I[*c]) & flow.bits;
  if (flow.kind == STORES && any) return unsure("a stored value");
  for (int k = 0; k < 4; ++k) to[k] = any ? flow.bits : 0;
  if (!any) return true;
  const uint64_t a = Q(I[7]), b = Q(I[8]);
  if (flow.kind == CHOOSES && !Q(I[9])) to[0] = V(I[9]) ? a : b;
  if (flow.kind == ANDS) to[0] = (a & (V(I[8]) | b)) | (b & (V(I[7]) | a));
  if (flow.kind == ORS) to[0] = (a & (~V(I[8]) | b)) | (b & (~V(I[7]) | a));
  to[0] &= flow.bits;
  if (flow.kind == MOVES) {
    for (const int* c = flow.uses; *c >= 0; ++c) if (!in(flow.data, *c) && Q(I[*c])) return true;
    int64_t row[COLUMNS], pc = 0; uint64_t registers[20];  // the same operation on the doubts
    for (int c = 0; c < COLUMNS; ++c) row[c] = I[c];
    for (const int* c = flow.uses; *c >= 0; ++c) { row[*c] = *c; registers[*c] = in(flow.data, *c) ? Q(I[*c]) : V(I[*c]); }
    int made = 0;
    for (const int* c = flow.makes; *c >= 0; ++c) row[*c] = 12 + made++;
    operations[I[0]](row, registers, constants, me, pc);
    for (int k = 0; k < made; ++k) to[k] = registers[12 + k];
  }
  return true;
}
int run(Thread& t, const int64_t* code, const uint64_t* constants, uint32_t me, uint64_t steps) {
  uint64_t* const R = t.r.data(); int64_t pc = t.pc; int state = NEXT;
  doubts = t.doubts.data(); doubted = t.doubted;
  while (state == NEXT) {
    const int64_t* const I = code + pc * COLUMNS; t.pc = pc;
    if (!steps--) return SLICE;
    ++pc; ++executed;
    uint64_t results[4];
    if (I[1] >= 0 && doubted && doubts[I[1]]) { state = unsure("a condition"); break; }
    if (I[1] >= 0 && (R[I[1]] != 0) != (I[2] != 0)) continue;
    const bool follows = doubted;
    if (follows && !doubts_follow(I, R, constants, me, results)) { state = FAILED; break; }
    state = operations[I[0]](I, R, constants, me, pc);
    if (follows && flows[I[0]].kind != LOADS && flows[I[0]].kind != GOES) {
      const int* const makes = flows[I[0]].makes;
      for (int k = 0; makes[k] >= 0; ++k) doubts[I[makes[k]]] = results[k];
    }
  }
  t.doubted = doubted;
  if (state != FAILED) t.pc = pc;
  return state;
}
}
extern "C" int ptx_launch(const int64_t* code, const uint64_t* constants, int64_t registers, int64_t shared, const uint32_t* grid,
    const uint32_t* block, const uint32_t* blocks, int64_t count, uint64_t seed, int flags, uint64_t s, uint64_t s_size, uint64_t d,
    uint64_t d_size, uint8_t* stored_map, char* text, uint64_t* turns) {
  std::mt19937_64 random(seed);
  races = flags & 1; counting = flags & 2; const bool sliced = flags & 4;
  source = s; source_end = s + s_size; destination = d; destination_end = d + d_size; stored = stored_map;
  executed = 0;
  const uint32_t n = block[0] * block[1] * block[2];
  std::vector<uint8_t> memory(shared + 16); room = (uint8_t*)(((uintptr_t)memory.data() + 15) & ~(uintptr_t)15); room_size = shared;
  std::vector<Thread> threads(n); std::vector<uint32_t> order(n);
  for (uint32_t k = 0; k < n; ++k) order[k] = k;
  std::vector<uint32_t> sequence(blocks, blocks + count); std::shuffle(sequence.begin(), sequence.end(), random);
  for (uint32_t b : sequence) {
    memset(room, random() | 1, shared); bytes.assign(shared, Byte{}); epoch = 1;
    accesses.clear(); far[0].clear(); far[1].clear(); seen.assign(n, {});
    for (uint32_t k = 0; k < n; ++k) {
      Thread& t = threads[k]; t.r.assign(registers, 0xEEEEEEEEEEEEEEEEull); t.doubts.assign(registers, 0); t.doubted = false; t.pc = 0; t.state = SLICE;
      const uint32_t special[12] = {k % block[0], k / block[0] % block[1], k / block[0] / block[1], b % grid[0], b / grid[0] % grid[1],
        b / grid[0] / grid[1], block[0], block[1], block[2], grid[0], grid[1], grid[2]};
      for (int j = 0; j < 12; ++j) t.r[j] = special[j];
    }
    for (uint64_t rounds = 0;; ++rounds) {
      uint32_t waiting = 0, ended = 0; int64_t barrier = -1;
      std::shuffle(order.begin(), order.end(), random);
      for (uint32_t k : order) {
        Thread& t = threads[k];
        if (t.state == SLICE) {
          uint64_t steps = sliced ? 1 + random() % 400 : 100000000;
          t.state = run(t, code, constants, k, steps);
          if (t.state == SLICE && !sliced) { what = "no end after 100 million instructions"; t.state = FAILED; }
          if (t.state == FAILED) {
            snprintf(text, 400, "%s (block %u, thread %u, line %lld)", what, b, k, (long long)code[t.pc * COLUMNS + 11]); return 1;
          }
        }
        ended += t.state == ENDED; waiting += t.state == BARRIER;
      }
      if (ended == n) break;
      if (ended + waiting < n) continue;
      for (Thread& t : threads) if (t.state == BARRIER) {
        if (barrier >= 0 && barrier != t.pc) { snprintf(text, 400, "threads of block %u wait at different barriers", b); return 1; }
        barrier = t.pc;
      }
      if (ended) { snprintf(text, 400, "a barrier is not reached by all threads of block %u", b); return 1; }
      for (Thread& t : threads) t.state = SLICE;
      ++epoch;
    }
    if (counting) for (int stores = 0; stores < 2; ++stores) {
      std::vector<uint64_t> all; uint64_t* const to = turns + 3 + 4 * stores;  // requests, bytes, sectors, different sectors
      for (auto& [where, list] : far[stores]) {
        std::vector<uint64_t> sectors;
        for (auto& [first, end] : list) {
          to[1] += end - first;
          for (uint64_t k = first / 32; k <= (end - 1) / 32; ++k) sectors.push_back(k);
        }
        std::sort(sectors.begin(), sectors.end()); sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
        ++to[0]; to[2] += sectors.size(); all.insert(all.end(), sectors.begin(), sectors.end());
      }
      std::sort(all.begin(), all.end()); to[3] += std::unique(all.begin(), all.end()) - all.begin();
    }
    if (counting) for (auto& [where, list] : accesses) {
      const uint32_t width = std::max(4u, list[0].second.width), together = 128 / width;
      std::sort(list.begin(), list.end(), [](auto& x, auto& y) { return x.first < y.first; });
      for (uint32_t first = 0; first < 32; first += together) {
        std::vector<uint32_t> words;
        for (auto& [lane, a] : list) if (lane >= first && lane < first + together)
          for (uint32_t k = 0; k < std::max(4u, a.width); k += 4) words.push_back((a.at + k) / 4);
        if (words.empty()) continue;
        std::sort(words.begin(), words.end()); words.erase(std::unique(words.begin(), words.end()), words.end());
        uint32_t bank[32] = {}; for (uint32_t w : words) ++bank[w % 32];
        turns[0] += *std::max_element(bank, bank + 32); ++turns[1];
      }
    }
  }
  turns[2] = executed;
  return 0;
}
