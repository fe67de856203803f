// Numbers of 16 bits, as all kernels here have them.

typedef unsigned int u32;
typedef unsigned short u16;

#ifndef EMULATED
#define DEVICE static __device__ __forceinline__

DEVICE u32 pack(float low, float high) {  // Two bfloat16, rounded to nearest even.
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
DEVICE float as_float(u32 bits) { return __uint_as_float(bits); }
DEVICE float from_lane(float value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }
DEVICE float inverse_root(float value) { return rsqrtf(value); }
// Written out, since the compiler makes four writes of some assignments.
DEVICE void store16(void* to, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
#endif

struct Eight {  // Eight bfloat16 as they lie in memory.
    u32 pair[4];
};

DEVICE void unpack(const Eight& packed, float* values) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        values[2 * i] = as_float(packed.pair[i] << 16);
        values[2 * i + 1] = as_float(packed.pair[i] & 0xffff0000u);
    }
}
DEVICE Eight packed(const float* values) {
    Eight result;
#pragma unroll
    for (int i = 0; i < 4; i++) result.pair[i] = pack(values[2 * i], values[2 * i + 1]);
    return result;
}

