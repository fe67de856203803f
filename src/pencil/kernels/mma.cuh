// Copies to shared memory, and products of small matrices by a warp, as all tensor cores since compute capability 8.0
// have them.

#include "bfloat16.cuh"

#ifndef EMULATED
DEVICE u32 shared_address(const void* at) { return (u32)__cvta_generic_to_shared(at); }

DEVICE void copy16(u32 to, const void* from, bool there) {  // Zeros where nothing is there.
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
DEVICE void commit() { asm volatile("cp.async.commit_group;"); }
template <int N> DEVICE void wait_but() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }

template <bool TURN> DEVICE void load_tiles(u32* to, u32 from) {  // Four 8×8 tiles.
    if (TURN)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}
DEVICE void multiply(float* total, const u32* a, const u32* b) {  // total[16×8] += a[16×16]·b[16×8]
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(total[0]), "+f"(total[1]), "+f"(total[2]), "+f"(total[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
extern __shared__ __align__(128) unsigned char shared[];
#endif

DEVICE Eight read16(const u16* from) {
    uint4 all = *reinterpret_cast<const uint4*>(from);
    return Eight{{all.x, all.y, all.z, all.w}};
}
DEVICE void write16(void* to, const Eight& all) {
    *reinterpret_cast<uint4*>(to) = make_uint4(all.pair[0], all.pair[1], all.pair[2], all.pair[3]);
}
