// Runs a CUDA kernel on the CPU, one program after the other: every thread is a fibre that gives way where the real
// one would wait for others. Tensor-core instructions are computed from what the lanes of a warp hand in, copies to
// shared memory arrive when they are waited for and not before (or, where `early` is set, at once), and shared memory
// starts as rubbish.
//
// Of Hopper's instructions, for one kernel (`launch_in_disorder`):
// - a wgmma reads another view of shared memory, which a thread's writes reach at its fence.proxy.async; it is computed
//   when its group is waited for (`late`) or at once, so that what is read too early and what is overwritten too early
//   are both found;
// - its descriptors, accumulators and transposition are those that the PTX ISA gives for the mode without swizzle;
// - fibres run in an order that changes with a seed, and whole warp groups sleep for a while;
// - what goes wrong beyond a wrong result, as that all wait for each other, is said.

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#define EMULATED
#define DEVICE static inline
#define __global__
#define __launch_bounds__(...)
using std::max;
using std::min;

struct uint4 {
    uint32_t x, y, z, w;
};
static uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }

struct uint2 {
    uint32_t x, y;
};
static uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }

struct float4 {
    float x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
struct float2 {
    float x, y;
};
static float2 make_float2(float x, float y) { return {x, y}; }

struct Place {
    int x = 0, y = 0, z = 0;
};
struct Copy {
    uint32_t to;
    const void* from;
    bool there;
};
struct Product {
    float* total;
    uint64_t a, b;
    bool turn, turn_b;
    int columns;
    bool held;  // The first matrix lies in the registers of the warp.
    size_t at;
};
constexpr int STACK = 1 << 16;
struct Fibre {
    ucontext_t context;
    std::vector<std::vector<Copy>> groups;
    std::vector<Copy> open;
    std::vector<std::vector<Product>> products;
    std::vector<Product> issued;
    std::vector<uint32_t> unseen;  // Where it wrote 16 bytes that a wgmma would not see yet.
    std::vector<const uint32_t*> held;  // Of each product, in order.
    size_t count_of_products = 0;
    bool fenced = false, done = false;
};
struct Barrier {
    int arrived = 0, expected = 0;
    long turn = 0;
};
struct Counter {
    int expected = 0, left = 0, phase = 0;
};

constexpr int SIZE = 256 * 1024;
alignas(1024) static unsigned char shared[SIZE], other_view[SIZE];
static Place threadIdx, blockIdx, gridDim;
static int count_of_threads, current;
static long events;  // A round without any is one in which all wait.
static bool late, early;
static const char* fault;
static std::vector<Fibre> fibres;
static std::vector<char> stacks;
static Barrier block_barrier;
static std::vector<Barrier> warp_barriers;
static std::map<int, Barrier> named;
static std::map<uint32_t, Counter> counters;
static std::vector<std::pair<uint64_t, uint64_t>> agreed[8];  // What each warp group multiplies.
static ucontext_t outside;
static std::function<void()> body;

static void blame(const char* what) {
    if (!fault) fault = what;
}
static void give_way() {
    swapcontext(&fibres[current].context, &outside);
}
static void wait_at(Barrier& barrier, int expected) {
    const long turn = barrier.turn;
    events++;
    if (barrier.arrived && barrier.expected != expected) blame("threads disagree about who meets");
    barrier.expected = expected;
    if (++barrier.arrived == expected) {
        barrier.arrived = 0;
        barrier.turn++;
    } else {
        while (barrier.turn == turn) give_way();
    }
}
static void __syncthreads() { wait_at(block_barrier, count_of_threads); }
static void sync_warp() { wait_at(warp_barriers[current / 32], 32); }
DEVICE void meet_warp() { sync_warp(); }
DEVICE void meet(int which, int threads) { wait_at(named[which], threads); }

static uint32_t handed[64][32][8];  // [warp, lane, value]

DEVICE uint32_t shared_address(const void* at) { return (uint32_t)((const unsigned char*)at - shared); }
DEVICE float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static void put(uint32_t to, const void* from) {
    if (to % 16 || to + 16 > SIZE) return blame("a write beyond shared memory");
    memcpy(shared + to, from, 16);
    fibres[current].unseen.push_back(to);
}
static void arrived(const Copy& copy) {
    static const uint4 zeros = {0, 0, 0, 0};
    put(copy.to, copy.there ? copy.from : &zeros);
}
DEVICE void copy16(uint32_t to, const void* from, bool there = true) {
    if (early) arrived({to, from, there});
    else fibres[current].open.push_back({to, from, there});
}
DEVICE void commit() {
    fibres[current].groups.push_back(fibres[current].open);
    fibres[current].open.clear();
}
template <int N> DEVICE void wait_but() {
    auto& groups = fibres[current].groups;
    while ((int)groups.size() > N) {
        for (const Copy& copy : groups.front()) arrived(copy);
        groups.erase(groups.begin());
    }
}
template <bool TURN> DEVICE void load_tiles(uint32_t* to, uint32_t from) {
    const int warp = current / 32, lane = current % 32;
    handed[warp][lane][0] = from;
    sync_warp();
    for (int tile = 0; tile < 4; tile++) {
        uint16_t pair[2];
        for (int half = 0; half < 2; half++) {
            const int row = TURN ? lane % 4 * 2 + half : lane / 4, column = TURN ? lane / 4 : lane % 4 * 2 + half;
            memcpy(&pair[half], shared + handed[warp][tile * 8 + row][0] + column * 2, 2);
        }
        to[tile] = pair[0] | (uint32_t)pair[1] << 16;
    }
    sync_warp();
}
static float half_of(uint32_t pair, int which) { return as_float(which ? pair & 0xffff0000u : pair << 16); }
DEVICE void multiply(float* total, const uint32_t* a, const uint32_t* b) {
    const int warp = current / 32, lane = current % 32;
    for (int i = 0; i < 4; i++) handed[warp][lane][i] = a[i];
    for (int i = 0; i < 2; i++) handed[warp][lane][4 + i] = b[i];
    sync_warp();
    for (int i = 0; i < 4; i++) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; k++) {
            const uint32_t left = handed[warp][row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
            const uint32_t right = handed[warp][column * 4 + k % 8 / 2][4 + k / 8];
            total[i] += half_of(left, k % 2) * half_of(right, k % 2);
        }
    }
    sync_warp();
}
static uint32_t rounded(float value) {
    const uint32_t bits = as_bits(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
DEVICE uint32_t pack(float low, float high) { return rounded(low) | rounded(high) << 16; }
DEVICE float from_lane(float value, int mask) {
    const int warp = current / 32, lane = current % 32;
    handed[warp][lane][0] = as_bits(value);
    sync_warp();
    const float other = as_float(handed[warp][lane ^ mask][0]);
    sync_warp();
    return other;
}
DEVICE void atomicMax(int* at, int value) { *at = std::max(*at, value); }
DEVICE float inverse_root(float value) { return 1.0f / sqrtf(value); }
DEVICE void store16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) { *(uint4*)to = {a, b, c, d}; }

DEVICE void store16(uint32_t to, uint4 all) { put(to, &all); }
DEVICE uint4 load16(uint32_t from) {
    uint4 all;
    memcpy(&all, shared + from, 16);
    return all;
}
DEVICE void store_turned(uint32_t to, const uint32_t* from) {  // The lane with a row's address writes that row.
    const int warp = current / 32, lane = current % 32;
    for (int i = 0; i < 4; i++) handed[warp][lane][i] = from[i];
    sync_warp();
    uint16_t row[8];
    for (int i = 0; i < 8; i++)
        row[i] = (uint16_t)(handed[warp][i * 4 + lane % 8 / 2][lane / 8] >> (lane % 2 ? 16 : 0));
    sync_warp();
    put(to, row);
}
DEVICE void show_async() {
    for (uint32_t at : fibres[current].unseen) memcpy(other_view + at, shared + at, 16);
    fibres[current].unseen.clear();
}

DEVICE void begin(uint32_t barrier, int count) { counters[barrier] = {count, count, 0}; }
DEVICE void arrive(uint32_t barrier) {
    Counter& counter = counters[barrier];
    if (counter.expected == 0) return blame("a barrier that was not begun");
    events++;
    if (--counter.left == 0) counter.left = counter.expected, counter.phase++;
    give_way();  // Others may act on it before anything else happens here.
}
DEVICE void wait(uint32_t barrier, int parity) {
    const Counter& counter = counters[barrier];
    if (counter.expected == 0) return blame("a barrier that was not begun");
    while ((counter.phase & 1) == parity) give_way();
}
template <int N> DEVICE void more_registers() {}
template <int N> DEVICE void less_registers() {}

static float half_at(uint32_t at) {
    uint16_t bits;
    if (at + 2 > SIZE) return blame("a read beyond shared memory"), 0.0f;
    memcpy(&bits, other_view + at, 2);
    return as_float((uint32_t)bits << 16);
}
// Where an element lies; `row` is along M or N.
static uint32_t element(uint64_t descriptor, bool turn, int row, int k) {
    const uint32_t start = (descriptor & 0x3fff) << 4, lead = (descriptor >> 16 & 0x3fff) << 4,
                   stride = (descriptor >> 32 & 0x3fff) << 4;
    const uint32_t inner = turn ? row % 8 * 2 + k % 8 * 16 : row % 8 * 16 + k % 8 * 2;
    return start + row / 8 * stride + k / 8 * lead + inner;
}
static float held_at(const Product& product, int half, int k) {
    const int first = current / 32 * 32, owner = first + current % 32 / 4 * 4 + k % 8 / 2;
    return half_of(fibres[owner].held[product.at][half + k / 8 * 2], k % 2);
}
static void compute(const Product& product) {
    const int warp = current / 32 % 4, lane = current % 32;
    float a[2][16], b[16];
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < 16; k++)
            a[half][k] = product.held
                             ? held_at(product, half, k)
                             : half_at(element(product.a, product.turn, warp * 16 + lane / 4 + half * 8, k));
    for (int i = 0; i < product.columns / 4; i++) {
        const int column = i / 2 * 8 + lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; k++) b[k] = half_at(element(product.b, product.turn_b, column, k));
        for (int half = 0; half < 2; half++) {
            float sum = 0.0f;
            for (int k = 0; k < 16; k++) sum += a[half][k] * b[k];
            product.total[i / 2 * 4 + half * 2 + i % 2] += sum;
        }
    }
}
DEVICE void fence_products() {
    sync_warp();
    fibres[current].fenced = true;
}
static void issue(Product product, const uint32_t* held) {
    Fibre& fibre = fibres[current];
    auto& known = agreed[current / 128];
    const auto both = std::make_pair(product.a, product.b);
    product.at = fibre.count_of_products++;
    fibre.held.push_back(held);
    if (product.at == known.size()) known.push_back(both);
    if (known[product.at] != both) blame("threads of a warp group multiply different things");
    if (product.a >> 49 || product.b >> 49) blame("a swizzle");
    if (!fibre.fenced) blame("a product without a fence");
    if (late) return fibre.issued.push_back(product);
    sync_warp();
    compute(product);
    sync_warp();
}
template <int TURN> DEVICE void multiply(float* total, uint64_t a, uint64_t b) {
    issue({total, a, b, TURN != 0, false, 256, false, 0}, nullptr);
}
DEVICE void multiply_turned(float* total, const uint32_t* a, uint64_t b) {
    issue({total, 0, b, false, true, 64, true, 0}, a);
}
DEVICE void load_turned(uint32_t* to, uint32_t from) { load_tiles<true>(to, from); }
DEVICE void commit_products() {
    Fibre& fibre = fibres[current];
    fibre.products.push_back(fibre.issued);
    fibre.issued.clear();
    fibre.fenced = false;
}
template <int N> DEVICE void wait_products() {
    auto& groups = fibres[current].products;
    sync_warp();  // The lanes of a warp wait together.
    while ((int)groups.size() > N) {
        for (const Product& product : groups.front()) compute(product);
        groups.erase(groups.begin());
    }
    sync_warp();
}
template <int N> DEVICE void settle(float*) {}

static void enter() {
    body();
    fibres[current].done = true;
    events++;
    while (true) give_way();
}
static void start(int threads) {
    memset(shared, 0xff, sizeof shared);
    memset(other_view, 0xff, sizeof other_view);
    fibres.assign(threads, Fibre());
    warp_barriers.assign(threads / 32, Barrier());
    block_barrier = Barrier();
    named.clear();
    counters.clear();
    for (auto& each : agreed) each.clear();
    for (int thread = 0; thread < threads; thread++) {
        ucontext_t& context = fibres[thread].context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks.data() + (size_t)thread * STACK;
        context.uc_stack.ss_size = STACK;
        context.uc_link = &outside;
        makecontext(&context, enter, 0);
    }
}
static bool go_on(int thread) {
    current = threadIdx.x = thread;
    if (!fibres[thread].done) swapcontext(&outside, &fibres[thread].context);
    return !fibres[thread].done;
}

// Runs `program` with so many threads at every place of the grid.
static void launch(int across, int down, int deep, int threads, std::function<void()> program) {
    count_of_threads = threads;
    body = program;
    stacks.resize((size_t)threads * STACK);
    for (int place = 0; place < across * down * deep; place++) {
        blockIdx = {place % across, place / across % down, place / across / down};
        start(threads);
        for (int left = threads; left;) {
            left = 0;
            for (int thread = 0; thread < threads; thread++) left += go_on(thread);
        }
    }
}

// Runs a program of warp groups at so many places, in an order that `seed` decides; says what went wrong, if anything.
static const char* launch_in_disorder(
    int across, int threads, unsigned seed, std::function<void()> program, int down = 1
) {
    count_of_threads = threads;
    body = program;
    fault = nullptr;
    gridDim = {across, down, 1};
    stacks.resize((size_t)threads * STACK);
    for (int place = 0; place < across * down; place++) {
        blockIdx = {place % across, place / across, 0};
        start(threads);
        const int groups = threads / 128;
        int asleep = (int)(seed % (groups + 1));  // A warp group that sleeps until the others cannot go on.
        for (int left = threads, idle = 0; left;) {
            const long before = events;
            left = 0;
            seed = seed * 1664525u + 1013904223u;
            if (idle > 2 || seed >> 27 == 0) asleep = idle > 4 ? -1 : (int)(seed >> 20) % (groups + 1);
            const int first = seed >> 16, stride = seed >> 8 & 1 ? 1 : threads - 1;
            for (int i = 0; i < threads; i++) {
                const int thread = (int)((first + (long)i * stride) % threads);
                left += thread / 128 == asleep ? !fibres[thread].done : go_on(thread);
            }
            if (fault) return fault;
            idle = events == before ? idle + 1 : 0;
            if (left && idle > 8) return "all wait for each other";
        }
        for (const Fibre& fibre : fibres)
            if (!fibre.products.empty() || !fibre.issued.empty() || !fibre.groups.empty())
                return "something was left under way";
    }
    return nullptr;
}
