// The largest magnitude among the numbers of several tensors in bfloat16; what is no number counts as larger than all.
//
// A block takes a piece of one tensor. Without its sign a number in bfloat16 is the larger the larger its bits are, and so
// is the 32-bit number of the same sign and exponent. The largest of all does not depend on which block comes first.
//
// Constants of the compilation:
//   THREADS  of a block     AT_ONCE  reads of a thread, all under way at once, of eight numbers each

#include "bfloat16.cuh"

constexpr int PIECE = THREADS * AT_ONCE;  // Eights of numbers.

#define TEN(X, ten) \
    X(ten##0), X(ten##1), X(ten##2), X(ten##3), X(ten##4), X(ten##5), X(ten##6), X(ten##7), X(ten##8), X(ten##9)
#define FORTY(X) TEN(X, ), TEN(X, 1), TEN(X, 2), TEN(X, 3)
#define START(i) const u16* start##i
#define EIGHTS(i) int eights##i
#define STARTED(i) start##i
#define COUNTED(i) eights##i

#ifdef EMULATED
DEVICE u32 larger(u32 a, u32 b) { return max(a & 0xffffu, b & 0xffffu) | max(a >> 16, b >> 16) << 16; }
#else
DEVICE u32 larger(u32 a, u32 b) { return __vmaxu2(a, b); }  // Of each half.
#endif

// Tensors that are not there have no eights. `largest` is zero before.
extern "C" __global__ void __launch_bounds__(THREADS)
find_largest(FORTY(START), FORTY(EIGHTS), int* largest) {
    const u16* const starts[] = {FORTY(STARTED)};
    const int counts[] = {FORTY(COUNTED)};
    int place = blockIdx.x, eights = 0;
    const u16* from = nullptr;
#pragma unroll
    for (int i = 0; i < 40; i++) {  // No table is looked up: the compiler would copy it for every thread.
        const int pieces = (counts[i] + PIECE - 1) / PIECE;
        if (place >= 0 && place < pieces) {
            from = starts[i] + (long long)place * PIECE * 8;
            eights = counts[i] - place * PIECE;
        }
        place -= pieces;
    }
    uint4 found[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
        const int at = j * THREADS + (int)threadIdx.x;
        found[j] = make_uint4(0u, 0u, 0u, 0u);
        if (at < eights) found[j] = reinterpret_cast<const uint4*>(from)[at];
    }
    u32 most = 0;
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
        const u32 pairs[4] = {found[j].x, found[j].y, found[j].z, found[j].w};
#pragma unroll
        for (int i = 0; i < 4; i++) most = larger(most, pairs[i] & 0x7fff7fffu);
    }
    most = max(most & 0xffffu, most >> 16);
    // As numbers that are no larger than 2¹⁵ they pass between lanes unchanged.
#pragma unroll
    for (int mask = 16; mask; mask /= 2) most = max(most, (u32)from_lane((float)most, mask));
    constexpr int warps = THREADS / 32;
#ifdef EMULATED
    u32* const room = reinterpret_cast<u32*>(shared);
#else
    static __shared__ u32 room[warps];
#endif
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < warps; w++) most = max(most, room[w]);
        atomicMax(largest, (int)(most << 16));
    }
}
