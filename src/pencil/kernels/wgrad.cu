// The gradient of the weights of a 3×3 convolution of stride 1 over rows of channels in bfloat16, for Hopper.
//
// A program takes 64 channels of the result and 64 of the input: total[tap][out, in] += gradient[pixel, out] ·
// image[pixel + tap, in], a sum over pixels. Three warp groups multiply, each the taps of one line, and a fourth brings
// in, into one place after the other, tiles of 256 pixels: the gradient's, and the image's with the pixels around them.
//
// The image lies in shared memory as planes of eight channels (16 bytes), without swizzle. A wgmma sums over 16 pixels of
// a line, so any of the nine shifts is only another start address. The gradient's share of a product is the same for
// three taps and goes through registers; it lies as in memory, but for the order of the chunks of a pixel, so that the
// same chunk of eight neighbours is in different banks.
//
// The sums of all programs are written out as the threads have them, and added up by a second kernel, always in the
// same order. Bringing in and writing out take longer than multiplying: as much as possible is under way from the start.
//
// Constants of the compilation:
//   HEIGHT, WIDTH  of an image     CHANNELS  of input and result     LOW  the result has 16 bits

#include "hopper.cuh"

constexpr int SLICE = 64, SLICES = CHANNELS / SLICE, CHUNKS = SLICE / 8, TAPS = 9;
constexpr int TILE = 256;  // Pixels.
constexpr int LINES = TILE / WIDTH, DOWN = LINES + 2, ACROSS = WIDTH + 2;
constexpr int STRIP = 16;  // Pixels of a line that are multiplied at once.
constexpr int PLANE = ((DOWN * ACROSS + 6) / 8 * 8 + 1) * 16, PIXEL = SLICE * 2;  // Planes start in other banks.
constexpr int GRAD_AT = CHUNKS * PLANE, PLACE_BYTES = GRAD_AT + TILE * PIXEL;
constexpr int MOST_SHARED = 232448, PLACES = 3 * PLACE_BYTES + 64 <= MOST_SHARED ? 3 : 2;
constexpr int FULL = PLACES * PLACE_BYTES, EMPTY = FULL + PLACES * 8;  // Barriers of each place.
constexpr int SHARED_BYTES = EMPTY + PLACES * 8;
constexpr int THREADS = 512, BRINGS = 104, MULTIPLIES = 136;  // Registers: 104 + 3 · 136 = 4 · 128.
constexpr int FOURS = 128 * 8 * TAPS;  // Of numbers that a program writes: eight of each thread for each tap.
constexpr int JOIN_THREADS = 256, JOINED = 32;  // Threads that add up, and how many of them side by side.

static_assert(WIDTH % STRIP == 0 && TILE % WIDTH == 0 && HEIGHT % LINES == 0, "a tile is some lines of one image");
static_assert(SHARED_BYTES <= MOST_SHARED, "shared memory of a program");

#ifndef EMULATED
DEVICE void load_turned(u32* to, u32 from) {  // Four 8×8 tiles.
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
}
DEVICE void multiply_turned(float* total, const u32* a, u64 b) {  // total[64×64] += a·b
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,"
        "%29,%30,%31}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
        : T16(0), T16(16)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#endif

// Brings a tile in; all of it is under way at once. The image goes through registers: copies to planes would be slow,
// whose every 16 bytes go elsewhere.
DEVICE void fill(const u16* image, const u16* grad, int tile, u32 place, int thread, u32 free, int parity) {
    constexpr int step = 128 / CHUNKS, turns = DOWN * WIDTH / step;
    static_assert(DOWN * WIDTH % step == 0 && TILE % step == 0, "every thread the same");
    const int chunk = thread % CHUNKS, own = thread / CHUNKS, line = tile % (HEIGHT / LINES) * LINES;
    const int first = line ? 0 : WIDTH, last = line + LINES == HEIGHT ? DOWN * WIDTH - WIDTH : DOWN * WIDTH;
    image += ((long long)tile * TILE - WIDTH + own) * CHANNELS + chunk * 8;
    grad += ((long long)tile * TILE + own) * CHANNELS + chunk * 8;
    uint4 found[turns];
#pragma unroll
    for (int i = 0; i < turns; i++) {
        const int pixel = own + i * step;
        found[i] = make_uint4(0u, 0u, 0u, 0u);
        if (pixel >= first && pixel < last) found[i] = read16(image + i * step * CHANNELS);
    }
    if (free) wait(free, parity);
    const u32 grads = place + GRAD_AT + own * PIXEL + (chunk ^ own % 8) * 16;
#pragma unroll
    for (int i = 0; i < TILE / step; i++) copy16(grads + i * step * PIXEL, grad + i * step * CHANNELS);
    commit();
    const u32 images = place + chunk * PLANE + (own + 1) * 16;
#pragma unroll
    for (int i = 0; i < turns; i++)
        store16(images + (i * step / WIDTH * ACROSS + i * step % WIDTH) * 16, found[i]);
}

DEVICE void bring(const u16* image, const u16* grad, int tiles, u32 base, int thread) {
#pragma unroll 1
    for (int count = 0, tile = blockIdx.x; tile < tiles; count++, tile += gridDim.x) {
        const int place = count % PLACES;
        const u32 free = count >= PLACES ? base + EMPTY + place * 8 : 0;
        fill(image, grad, tile, base + place * PLACE_BYTES, thread, free, (count / PLACES - 1) & 1);
        hand_on<0>(base + FULL + place * 8);
    }
}

// Multiplies a strip for the three taps of this warp group; `held` is free since the strip before the last was done.
DEVICE void multiply_strip(float (*total)[32], u32* held, int strip, u32 grads, u32 images) {
    load_turned(held, grads + strip * STRIP * PIXEL);
    images += (strip * STRIP / WIDTH * ACROSS + strip * STRIP % WIDTH) * 16;
    fence_products();
#pragma unroll
    for (int tap = 0; tap < 3; tap++)
        multiply_turned(total[tap], held, descriptor(images + tap * 16, 128, PLANE));
    commit_products();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
weight_sums(const u16* image, const u16* grad, float* partial, int batch) {
    const u32 base = shared_address(shared);
    const int tiles = batch * (HEIGHT / LINES), group = threadIdx.x / 128, thread = threadIdx.x % 128;
    const int out = blockIdx.y / SLICES * SLICE, in = blockIdx.y % SLICES * SLICE;

    // The columns beside the image stay zero.
    for (int i = threadIdx.x; i < PLACES * CHUNKS * DOWN * 2; i += THREADS) {
        const int side = i % 2, down = i / 2 % DOWN, plane = i / 2 / DOWN;
        const u32 at = base + plane / CHUNKS * PLACE_BYTES + plane % CHUNKS * PLANE;
        store16(at + (down * ACROSS + side * (ACROSS - 1)) * 16, make_uint4(0u, 0u, 0u, 0u));
    }
    if (threadIdx.x == 0)
        for (int each = 0; each < PLACES; each++) {
            begin(base + FULL + each * 8, 128);
            begin(base + EMPTY + each * 8, 12);
        }
    show_async();
    __syncthreads();

    if (group == 3) {
        less_registers<BRINGS>();
        bring(image + in, grad + out, tiles, base, thread);
        return;
    }

    more_registers<MULTIPLIES>();
    const int warp = thread / 32, lane = thread % 32;
    float total[3][32];
#pragma unroll
    for (int tap = 0; tap < 3; tap++)
#pragma unroll
        for (int i = 0; i < 32; i++) total[tap][i] = 0.0f;
    u32 held[2][4];
    const u32 corner = GRAD_AT + (lane / 16 * 8 + lane % 8) * PIXEL + ((warp * 2 + lane / 8 % 2) ^ lane % 8) * 16;
    int count = 0;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; count++, tile += gridDim.x) {
        const int which = count % PLACES, before = (count + PLACES - 1) % PLACES;
        const u32 place = base + which * PLACE_BYTES, grads = place + corner, images = place + group * ACROSS * 16;
        wait(base + FULL + which * 8, count / PLACES & 1);
#pragma unroll 1
        for (int strip = 0; strip < TILE / STRIP; strip += 2) {
            wait_products<1>();
            multiply_strip(total, held[0], strip, grads, images);
            wait_products<1>();
            // With that, all of the tile before is done.
            if (strip == 0 && count && lane == 0) arrive(base + EMPTY + before * 8);
            multiply_strip(total, held[1], strip + 1, grads, images);
        }
    }
    wait_products<0>();

    float4* const to = reinterpret_cast<float4*>(partial)
                       + ((long long)blockIdx.x * gridDim.y + blockIdx.y) * FOURS + group * FOURS / 3 + thread;
#pragma unroll
    for (int tap = 0; tap < 3; tap++) {
        settle<32>(total[tap]);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float* const four = total[tap] + i * 4;
            to[(tap * 8 + i) * 128] = make_float4(four[0], four[1], four[2], four[3]);
        }
    }
}

DEVICE void write_two(void* result, int at, float one, float two) {
    if (LOW) static_cast<u32*>(result)[at / 2] = pack(one, two);
    else *reinterpret_cast<float2*>(static_cast<float*>(result) + at) = make_float2(one, two);
}

extern "C" __global__ void __launch_bounds__(JOIN_THREADS)
join_sums(const float* partial, void* result, int programs) {
    float4* const room = reinterpret_cast<float4*>(shared);
    const int column = threadIdx.x % JOINED, start = threadIdx.x / JOINED, four = blockIdx.x * JOINED + column;
    const float4* const from = reinterpret_cast<const float4*>(partial) + four;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int program = start; program < programs; program += JOIN_THREADS / JOINED) {
        const float4 more = from[(long long)program * SLICES * SLICES * FOURS];
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    room[threadIdx.x] = sum;
    __syncthreads();
    if (start) return;
#pragma unroll
    for (int i = JOINED; i < JOIN_THREADS; i += JOINED) {
        const float4 more = room[column + i];
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    // Two are of one channel and its neighbour, the other two of the channel eight further of the result.
    const int slice = four / FOURS, tap = four % FOURS / 1024, thread = four % 128, lane = thread % 32;
    const int out = slice / SLICES * SLICE + thread / 32 * 16 + lane / 4;
    const int in = slice % SLICES * SLICE + four / 128 % 8 * 8 + lane % 4 * 2;
    write_two(result, (out * TAPS + tap) * CHANNELS + in, sum.x, sum.y);
    write_two(result, ((out + 8) * TAPS + tap) * CHANNELS + in, sum.z, sum.w);
}
