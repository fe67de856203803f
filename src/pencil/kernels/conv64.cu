// A 3×3 convolution of stride 1 over rows of 64 channels in bfloat16, and its gradient towards the input, for Hopper.
//
// Channels of the result are the 64 rows of a wgmma and 256 pixels its columns: total[channel, pixel] += weights ·
// pixels.
//
// Pixels lie in shared memory as planes of eight channels (16 bytes), without swizzle. A wgmma reads groups of eight
// neighbouring pixels at a fixed distance; each group is held with the pixel on either side of it, ten rows, so that
// any of the nine shifts is only another start address, and no column is computed that is not wanted.
//
// Two warp groups multiply, one brings in. The weights stay in shared memory for the whole program, and the two take
// tiles of 256 pixels in turn: while one multiplies, the other writes its result out and the third brings the next tile
// in. Forward, the mean of each tile and the squared distances from it are taken; they are joined in a fixed order
// elsewhere.
//
// A normalisation and a ReLU may stand before the convolution (NORM). Forward, the image is then activated on its way in,
// and the activated one is written out too. Backward, the other gradient of that image is added, what the ReLU let
// through is written instead of its gradient, and the sums of the normalisation's own gradients are taken, by each warp
// group that multiplies over all its tiles.
//
// Constants of the compilation:
//   HEIGHT, WIDTH  of an image                            TURNED  towards the input
//   NORM           through a normalisation and its ReLU   ADD     backward: something was added between the two
//   BOTH           backward: there are two gradients

#include "hopper.cuh"

constexpr int CHANNELS = 64, CHUNKS = CHANNELS / 8, TAPS = 9;
constexpr int TILE = 256;  // Pixels.
constexpr int LINES = TILE / WIDTH, DOWN = LINES + 2, ACROSS = WIDTH / 8;
constexpr int GROUP = 10;                                // Rows of eight pixels and their neighbours.
constexpr int PLANE = (DOWN * ACROSS * GROUP + 1) * 16;  // One row more, so that planes start in other banks.
constexpr int BAND_BYTES = CHUNKS * PLANE, TAP_BYTES = CHANNELS * CHANNELS * 2, PIXEL = CHANNELS * 2;
constexpr int THREADS = 384, BRINGS = 136, MULTIPLIES = 184;  // Registers: 136 + 2 · 184 = 3 · 168.

constexpr int WEIGHTS_AT = 2 * BAND_BYTES, STAGE_AT = WEIGHTS_AT + TAPS * TAP_BYTES;
constexpr int FULL = STAGE_AT + TILE * PIXEL;                         // Barriers: each third of the weights,
constexpr int BAND_FULL = FULL + 3 * 8, BAND_EMPTY = BAND_FULL + 16;  // each group's pixels,
constexpr int UNSTAGED = BAND_EMPTY + 16, NEXT = UNSTAGED + 16;       // its result written out, its turn to multiply.
constexpr int NORMAL_AT = NEXT + 24;                                  // Of each channel: mean, scale, offset.
constexpr int SHARED_BYTES = NORM ? NORMAL_AT + 3 * CHANNELS * 4 : NEXT + 16;
constexpr int STEP = 128 / CHUNKS, ROWS = TILE / STEP;  // Pixels written at once; how many a thread writes.
constexpr int AT_ONCE = 4;                              // Of these, so many are read at once of what lies beside.

static_assert(WIDTH % 8 == 0 && TILE % WIDTH == 0 && HEIGHT % LINES == 0, "a tile is some lines of one image");
static_assert(TURNED || !ADD, "forward it would have to be waited for, which took longer than a kernel of its own");
static_assert(NORMAL_AT % 16 == 0 && SHARED_BYTES <= 232448, "shared memory of a program");

#include "conv64_norm.cuh"

#ifndef EMULATED
#define T64(i) T16(i), T16(i + 16), T16(i + 32), T16(i + 48)
template <int TURN> DEVICE void multiply(float* total, u64 a, u64 b) {  // total[64×256] += a·b
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,"
        "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,"
        "%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,"
        "%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,"
        "%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,"
        "%127}, %128, %129, 1, 1, 1, %130, 0;"
        : T64(0), T64(64)
        : "l"(a), "l"(b), "n"(TURN));
}
#endif

// Brings the pixels of a tile and around it in, activated where they are to be; then those of the tile are also written
// out. As many as there are registers for are asked for before the place for them must be free.
template <int COUNT>
DEVICE void fill_band(const u16* image, int tile, u32 band, int thread, u32 free, int parity, const Before& known) {
    constexpr int step = COUNT / CHUNKS, pixels = DOWN * WIDTH, turns = pixels / step;
    constexpr bool activates = NORM && !TURNED;
    constexpr int parts = activates ? (turns + 19) / 20 : 1, at_once = turns / parts;
    static_assert(pixels % step == 0 && step % 8 == 0, "every thread the same, and always the same of a group");
    static_assert(turns % parts == 0, "parts are alike");
    const int chunk = thread % CHUNKS, own = thread / CHUNKS, line = tile % (HEIGHT / LINES) * LINES;
    const int first = line ? 0 : WIDTH, last = line + LINES == HEIGHT ? pixels - WIDTH : pixels;
    const long long from = ((long long)tile * TILE - WIDTH) * CHANNELS + chunk * 8;
    const int inner = own % 8;
    const u32 row = band + chunk * PLANE + (own / 8 * GROUP + 1 + inner) * 16;
#if NORM && !TURNED
    const Normal normal = normal_of(chunk);
#endif
#pragma unroll
    for (int part = 0; part < parts; part++) {
        uint4 found[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const int pixel = own + (part * at_once + i) * step;
            found[i] = make_uint4(0u, 0u, 0u, 0u);
            if (pixel >= first && pixel < last) found[i] = read16(image + from + (long long)pixel * CHANNELS);
        }
        if (part == 0 && free) wait(free, parity);
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const int turn = part * at_once + i, pixel = own + turn * step, group = pixel / 8;
            const u32 at = row + turn * (step / 8) * GROUP * 16;
#if NORM && !TURNED
            if (pixel >= first && pixel < last) found[i] = activated(found[i], normal);
            if (pixel >= WIDTH && pixel < pixels - WIDTH)
                write16(known.active + from + (long long)pixel * CHANNELS, found[i]);
#endif
            store16(at, found[i]);
            if (inner == 0 && group % ACROSS != 0) store16(at - 32, found[i]);        // Right of the group before.
            if (inner == 7 && (group + 1) % ACROSS != 0) store16(at + 32, found[i]);  // Left of the one after.
        }
    }
    show_async();
}

// Asks for the weights of one tap.
DEVICE void fetch_tap(const u16* kernel, int tap, u32 to, int thread) {
#pragma unroll
    for (int i = thread; i < CHANNELS * CHUNKS; i += 128) {  // Eight lanes write eight rows of a plane.
        const int row = i / 64 * 8 + i % 8, chunk = i / 32 % 2 * 4 + i / 8 % 4;
        const u16* const from = kernel + (row * TAPS + (TURNED ? 8 - tap : tap)) * CHANNELS + chunk * 8;
        copy16(to + (chunk * CHANNELS + row) * 16, from);
    }
}

// The first tile is brought in by those who multiply, the others here.
DEVICE void bring(const u16* image, const u16* kernel, int tiles, u32 base, int thread, const Before& known) {
#pragma unroll 1
    for (int tap = 0; tap < TAPS; tap++) {
        fetch_tap(kernel, tap, base + WEIGHTS_AT + tap * TAP_BYTES, thread);
        if (tap % 3 == 2) commit();
    }
    hand_on<2>(base + FULL);
    hand_on<1>(base + FULL + 8);
    hand_on<0>(base + FULL + 16);
#pragma unroll 1
    for (int count = 1, tile = blockIdx.x + gridDim.x; tile < tiles; count++, tile += gridDim.x) {
        const int group = count % 2, before = (count / 2 - 1) & 1;
        const u32 free = count > 1 ? base + BAND_EMPTY + group * 8 : 0;
        fill_band<128>(image, tile, base + group * BAND_BYTES, thread, free, before, known);
        arrive(base + BAND_FULL + group * 8);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv64(const u16* image, const u16* kernel, u16* out, float* partial, int batch, const u16* x, const u16* other,
       u16* y, const float* moments, const float* weight, const float* bias, float* running_mean, float* running_var,
       long long* batches, double momentum, double eps) {
    const u32 base = shared_address(shared);
    const int tiles = batch * (HEIGHT / LINES), group = threadIdx.x / 128, thread = threadIdx.x % 128;

    // The columns beside the image stay zero.
    for (int i = threadIdx.x; i < 2 * CHUNKS * DOWN * 2; i += THREADS) {
        const int side = i % 2, line = i / 2 % DOWN, plane = i / 2 / DOWN;
        const int row = side ? (line + 1) * ACROSS * GROUP - 1 : line * ACROSS * GROUP;
        store16(base + plane * PLANE + row * 16, make_uint4(0u, 0u, 0u, 0u));
    }
    if (threadIdx.x == 0) {
        for (int third = 0; third < 3; third++) begin(base + FULL + third * 8, 128);
        for (int each = 0; each < 2; each++) {
            begin(base + BAND_FULL + each * 8, 128);
            begin(base + BAND_EMPTY + each * 8, 4);
            begin(base + UNSTAGED + each * 8, 4);
            begin(base + NEXT + each * 8, 4);
        }
    }
    const Before known{x, other, y, y, moments, weight, bias, running_mean, running_var, batches, (float)momentum,
                       (float)eps};
#if NORM
    if (threadIdx.x < CHANNELS) keep_normal(known, threadIdx.x, tiles * TILE);
#endif
#if NORM && TURNED
    float sums[2][8] = {};
#endif
    show_async();
    __syncthreads();

    if (group == 2) {
        less_registers<BRINGS>();
        bring(image, kernel, tiles, base, thread, known);
        return;
    }

    more_registers<MULTIPLIES>();
    const int warp = thread / 32, lane = thread % 32;
    const u32 band = base + group * BAND_BYTES, stage = base + STAGE_AT;
    const u32 corner = stage + (lane / 16 * 8 + lane % 8) * PIXEL + ((warp * 2 + lane / 8 % 2) ^ lane % 8) * 16;
    fill_band<256>(image, blockIdx.x, base, threadIdx.x, 0, 0, known);
    meet(1, 256);
#pragma unroll 1
    for (int turn = 0, tile = blockIdx.x + group * gridDim.x; tile < tiles; turn++, tile += 2 * gridDim.x) {
        const int before = group ? turn : turn - 1;  // The other's turn.
        if (before >= 0) wait(base + BAND_FULL + group * 8, before & 1);
        float total[128];
#pragma unroll
        for (int i = 0; i < 128; i++) total[i] = 0.0f;
        if (before >= 0) wait(base + NEXT + group * 8, before & 1);
#pragma unroll 1
        for (int tap = 0; tap < TAPS; tap++) {
            wait(base + FULL + tap / 3 * 8, 0);
            const u32 weights = base + WEIGHTS_AT + tap * TAP_BYTES;
            const u32 pixels = band + (tap / 3 * ACROSS * GROUP + tap % 3) * 16;
            constexpr int along = TURNED ? 128 : CHANNELS * 16, over = TURNED ? CHANNELS * 16 : 128;  // Of weights.
            fence_products();
#pragma unroll
            for (int k = 0; k < CHANNELS / 16; k++)
                multiply<TURNED>(total, descriptor(weights + k * 2 * along, along, over),
                                 descriptor(pixels + k * 2 * PLANE, PLANE, GROUP * 16));
            commit_products();
        }
        if (lane == 0) arrive(base + NEXT + (1 - group) * 8);
        wait_products<0>();
        settle<128>(total);
        if (lane == 0) arrive(base + BAND_EMPTY + group * 8);

        // A thread's channels are this and eight more, its pixels 8·i + lane % 4 · 2 and the next.
        const int channel = warp * 16 + lane / 4;
        float mean[2] = {0.0f, 0.0f}, spread[2] = {0.0f, 0.0f};
        u32 kept[64];
        const int chunk = thread % CHUNKS, pixel = thread / CHUNKS;
        const long long at = ((long long)tile * TILE + pixel) * CHANNELS + chunk * 8;
#if NORM && TURNED
        Beside beside[2];
#endif
        if (before >= 0) wait(base + UNSTAGED + (1 - group) * 8, before & 1);
#pragma unroll
        for (int i = 0; i < 16; i++) {
#if NORM && TURNED
            if (i == 8) ask(beside[0], known, at);  // By now half of the products have left their registers.
#endif
#pragma unroll
            for (int j = 0; j < 4; j++) {
                u32& pair = kept[i * 4 + j];
                pair = pack(total[i * 8 + j * 2], total[i * 8 + j * 2 + 1]);
                if (!TURNED) mean[j % 2] += low(pair), mean[j % 2] += high(pair);
            }
            store_turned(corner + i * 16 * PIXEL, kept + i * 4);
        }
        meet(2 + group, 128);
        const u32 from = stage + pixel * PIXEL + (chunk ^ pixel % 8) * 16;
#if NORM && TURNED
        const Normal normal = normal_of(chunk);
#endif
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            uint4 all = load16(from + i * STEP * PIXEL);
#if NORM && TURNED
            const int some = i / AT_ONCE, next = i + AT_ONCE;
            if (i % AT_ONCE == 0 && next < ROWS) ask(beside[1 - some % 2], known, at + next * STEP * CHANNELS);
            all = let_through(all, beside[some % 2], i % AT_ONCE, normal, sums);
#endif
            write16(out + at + i * STEP * CHANNELS, all);
        }
        meet_warp();
        if (lane == 0) arrive(base + UNSTAGED + group * 8);

        if (!TURNED)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                mean[half] += from_lane(mean[half], 1);
                mean[half] += from_lane(mean[half], 2);
                mean[half] /= TILE;
#pragma unroll
                for (int i = half; i < 64; i += 2) {
                    const float one = low(kept[i]) - mean[half], two = high(kept[i]) - mean[half];
                    spread[half] += one * one + two * two;
                }
                spread[half] += from_lane(spread[half], 1);
                spread[half] += from_lane(spread[half], 2);
                if (lane % 4 == 0) {
                    partial[(long long)tile * 2 * CHANNELS + channel + half * 8] = mean[half];
                    partial[((long long)tile * 2 + 1) * CHANNELS + channel + half * 8] = spread[half];
                }
            }
    }
#if NORM && TURNED
    finish(sums, partial, group, thread);
#endif
}
