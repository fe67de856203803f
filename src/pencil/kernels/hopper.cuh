// Hopper's instructions, and how its kernels here speak to memory.

#include "bfloat16.cuh"

typedef unsigned long long u64;

#ifndef EMULATED
DEVICE u32 shared_address(const void* at) { return (u32)__cvta_generic_to_shared(at); }

DEVICE void copy16(u32 to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void wait_but() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

DEVICE void store16(u32 to, uint4 all) {
    asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(all.x), "r"(all.y), "r"(all.z), "r"(all.w)
                 : "memory");
}
DEVICE uint4 load16(u32 from) {
    uint4 all;
    asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(all.x), "=r"(all.y), "=r"(all.z), "=r"(all.w) : "r"(from) : "memory");
    return all;
}
DEVICE void store_turned(u32 to, const u32* from) {  // Four 8×8 tiles.
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(to), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]) : "memory");
}

DEVICE void begin(u32 barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
DEVICE void arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
DEVICE void wait(u32 barrier, int parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
DEVICE void meet(int which, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(which), "r"(threads) : "memory"); }
DEVICE void meet_warp() { __syncwarp(); }
DEVICE void show_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }  // What it wrote, to wgmma.

template <int N> DEVICE void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> DEVICE void less_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

DEVICE void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> DEVICE void wait_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
template <int N> DEVICE void settle(float* total) {  // Keeps the compiler from reading early.
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(total[i])::"memory");
}
#define T1(i) "+f"(total[i])
#define T4(i) T1(i), T1(i + 1), T1(i + 2), T1(i + 3)
#define T16(i) T4(i), T4(i + 4), T4(i + 8), T4(i + 12)

extern __shared__ __align__(128) unsigned char shared[];
#endif

DEVICE float low(u32 pair) { return as_float(pair << 16); }
DEVICE float high(u32 pair) { return as_float(pair & 0xffff0000u); }
DEVICE uint4 read16(const u16* from) { return *reinterpret_cast<const uint4*>(from); }
DEVICE void write16(u16* to, uint4 all) { *reinterpret_cast<uint4*>(to) = all; }
DEVICE u64 descriptor(u32 start, u32 lead, u32 stride) {
    return (u64)((start & 0x3ffff) >> 4) | (u64)(lead >> 4) << 16 | (u64)(stride >> 4) << 32;
}

// Says that what this thread copied, but for the last groups of it, is there.
template <int LEFT> DEVICE void hand_on(u32 barrier) {
    wait_but<LEFT>();
    show_async();
    arrive(barrier);
}

