// Runs a CUDA kernel on the CPU, one program after the other: every thread is a fibre that gives way where the real
// one would wait for others. Tensor-core instructions are computed from what the lanes of a warp hand in, copies to
// shared memory arrive when they are waited for and not before, and shared memory starts as rubbish.

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <vector>

#define EMULATED
#define DEVICE static inline
#define __global__
#define __launch_bounds__(threads)
using std::max;
using std::min;

struct uint4 {
    uint32_t x, y, z, w;
};
static uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }

struct float4 {
    float x, y, z, w;
};
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
constexpr int STACK = 1 << 16;
struct Fibre {
    ucontext_t context;
    std::vector<std::vector<Copy>> groups;
    std::vector<Copy> open;
    bool done = false;
};
struct Barrier {
    int arrived = 0;
    long turn = 0;
};

alignas(128) static unsigned char shared[256 * 1024];
static Place threadIdx, blockIdx;
static int count_of_threads, current;
static std::vector<Fibre> fibres;
static std::vector<char> stacks;
static Barrier block_barrier;
static std::vector<Barrier> warp_barriers;
static ucontext_t outside;
static std::function<void()> body;

static void give_way() {
    swapcontext(&fibres[current].context, &outside);
}
static void wait_at(Barrier& barrier, int expected) {
    const long turn = barrier.turn;
    if (++barrier.arrived == expected) {
        barrier.arrived = 0;
        barrier.turn++;
    } else {
        while (barrier.turn == turn) give_way();
    }
}
static void __syncthreads() { wait_at(block_barrier, count_of_threads); }
static void sync_warp() { wait_at(warp_barriers[current / 32], 32); }

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
DEVICE void copy16(uint32_t to, const void* from, bool there) { fibres[current].open.push_back({to, from, there}); }
DEVICE void commit() {
    fibres[current].groups.push_back(fibres[current].open);
    fibres[current].open.clear();
}
template <int N> DEVICE void wait_but() {
    auto& groups = fibres[current].groups;
    while ((int)groups.size() > N) {
        for (const Copy& copy : groups.front()) {
            if (copy.there) memcpy(shared + copy.to, copy.from, 16);
            else memset(shared + copy.to, 0, 16);
        }
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
DEVICE float inverse_root(float value) { return 1.0f / sqrtf(value); }
DEVICE void store16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) { *(uint4*)to = {a, b, c, d}; }

static void enter() {
    body();
    fibres[current].done = true;
    while (true) give_way();
}

// Runs `program` with so many threads at every place of the grid.
static void launch(int across, int down, int deep, int threads, std::function<void()> program) {
    count_of_threads = threads;
    body = program;
    stacks.resize((size_t)threads * STACK);
    for (int place = 0; place < across * down * deep; place++) {
        blockIdx = {place % across, place / across % down, place / across / down};
        memset(shared, 0xff, sizeof shared);
        fibres.assign(threads, Fibre());
        warp_barriers.assign(threads / 32, Barrier());
        block_barrier = Barrier();
        for (int thread = 0; thread < threads; thread++) {
            ucontext_t& context = fibres[thread].context;
            getcontext(&context);
            context.uc_stack.ss_sp = stacks.data() + (size_t)thread * STACK;
            context.uc_stack.ss_size = STACK;
            context.uc_link = &outside;
            makecontext(&context, enter, 0);
        }
        for (int left = threads; left;) {
            left = 0;
            for (current = 0; current < threads; current++) {
                if (fibres[current].done) continue;
                threadIdx.x = current;
                swapcontext(&outside, &fibres[current].context);
                left += !fibres[current].done;
            }
        }
    }
}
