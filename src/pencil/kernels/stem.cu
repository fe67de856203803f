// The convolution that sees an image first, 3×3 with stride 1, from up to four channels in bfloat16 to 64, and the
// gradient of its weights.
//
// Its products are few: what should take time is to write its result, or to read that one's gradient. So the rest is to
// be small beside it, and under way while memory is busy.
//
// The image has four channels, those that it lacks being zero: a pixel is 8 bytes. Programs take tiles of 256 pixels,
// one after the other, and hold a tile's lines and the pixels around them in shared memory, while those of the next
// come in.
//
// Forward, total[pixel, channel] += image[pixel + tap, c] · weights[channel, tap, c], where a product sums over four
// taps. The sum's order is free: each thread takes a whole tap of a pixel, so that it reads 8 bytes at once. The order
// of the columns is free as well: a thread gets eight neighbouring channels of a pixel and writes them as they are. Of
// each tile the mean and the squared distances from it are taken; they are joined in a fixed order elsewhere.
//
// Backward, total[channel, (tap, c)] += gradient[pixel, channel] · image[pixel + tap, c], a sum over pixels. Two pixels
// beside each other are eight columns of it: 16 bytes, but only every other pair starts where a load of tiles may. So a
// warp takes the even pixels of lines or the odd ones. Their windows of three pixels lie in four that start at such a
// place: one column is left over, before the window of even pixels and behind that of odd ones. The sums of all
// programs are added up by another kernel, always in the same order.
//
// Constants of the compilation:
//   HEIGHT, WIDTH  of an image     INSIDE  its channels, as the weights have them     LOW  their gradient has 16 bits

#include "mma.cuh"

constexpr int OUTSIDE = 64, TAPS = 9, HELD = 4;  // Channels of the result; taps; channels of the image with the zeros.
constexpr int TILE = 256;                        // Pixels.
constexpr int LINES = TILE / WIDTH, DOWN = LINES + 2, BANDS = HEIGHT / LINES;
constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int PIXEL = HELD * 2;  // Bytes, as all sizes in shared memory.
// A line starts with a pixel of no use and the one left of the image, so that the image's pairs are aligned. Neighbours
// in a line and those below them are in different banks because lines are an odd multiple of 64 bytes apart.
constexpr int BEFORE = 2, LINE = (WIDTH + 8) * PIXEL, LINES_BYTES = DOWN * LINE;

static_assert(WIDTH % 16 == 0 && TILE % WIDTH == 0 && HEIGHT % LINES == 0, "a tile is some lines of one image");
static_assert(DOWN * WIDTH / 2 <= THREADS && 2 * DOWN * 2 <= THREADS, "each thread brings in one pair, or none");
static_assert(INSIDE >= 1 && INSIDE <= HELD && LINE % 128 == 64, "pixels are held in 8 bytes");

// Forward: four warps along pixels, two along channels.
constexpr int WARPS_M = 4, WARPS_N = WARPS / WARPS_M, WARP_PIXELS = TILE / WARPS_M, WARP_CHANNELS = OUTSIDE / WARPS_N;
constexpr int MT = WARP_PIXELS / 16, NT = WARP_CHANNELS / 8, STEPS = 3;  // Products: rows, columns, four taps each.
constexpr int WEIGHTS_AT = 2 * LINES_BYTES, ROOM_AT = WEIGHTS_AT + OUTSIDE * TAPS * PIXEL;
constexpr int FORWARD_BYTES = ROOM_AT + WARPS_M * 2 * OUTSIDE * 4;

// Backward: two warps along channels, two for even and odd pixels, two for halves of a tile.
constexpr int ROW = OUTSIDE * 2, CHUNKS = OUTSIDE / 8, GRAD_BYTES = TILE * ROW;
constexpr int PARTS = WARPS / 2, PART_PIXELS = TILE / PARTS, STRIP = 16;  // Pixels of a product, each other one.
constexpr int IMAGES_AT = 2 * GRAD_BYTES, SUMS_BYTES = IMAGES_AT + 2 * LINES_BYTES;
constexpr int FOURS = OUTSIDE * TAPS;  // Sums of four channels: what a program writes.
constexpr int JOIN_THREADS = 256, JOINED = 8, JOIN_WARPS = JOIN_THREADS / 32;  // JOINED: threads side by side.
constexpr int JOIN_BYTES = JOIN_WARPS * JOINED * 16;

static_assert(PARTS * FOURS * 16 <= IMAGES_AT, "the sums of all parts fit where gradients were");
static_assert(NT == 4, "a thread writes 16 bytes of a pixel");
static_assert(FOURS % JOINED == 0 && 32 % JOINED == 0, "every thread has something to add");

// Brings a tile's lines and those around them in; a place beyond the image gets zeros.
DEVICE void fetch_lines(const u16* image, int tile, u32 to) {
    constexpr int pairs = WIDTH / 2;
    const int down = threadIdx.x / pairs, pair = threadIdx.x % pairs, line = tile % BANDS * LINES + down - 1;
    if (down >= DOWN) return;
    const bool there = line >= 0 && line < HEIGHT;
    const long long pixel = there ? (long long)tile * TILE + (down - 1) * WIDTH + pair * 2 : 0;
    copy16(to + down * LINE + (BEFORE + pair * 2) * PIXEL, image + pixel * HELD, there);
}

// The columns beside the image stay zero, in both places for lines.
DEVICE void clear_sides(unsigned char* places) {
    if (threadIdx.x >= 2 * DOWN * 2) return;
    const int side = threadIdx.x % 2, down = threadIdx.x / 2;
    const int column = side ? BEFORE + WIDTH : BEFORE - 1;
    *reinterpret_cast<uint2*>(places + down * LINE + column * PIXEL) = make_uint2(0u, 0u);
}

// Makes mean and squared distances of `count` values those of them and as many others.
DEVICE void merge(float& mean, float& spread, float other_mean, float other_spread, int count) {
    const float apart = other_mean - mean;
    mean = 0.5f * (mean + other_mean);
    spread = spread + other_spread + apart * apart * (0.5f * count);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
stem_forward(const u16* image, const u16* kernel, u16* out, float* partial, int batch) {
    const u32 base = shared_address(shared);
    float* const room = reinterpret_cast<float*>(shared + ROOM_AT);  // [WARPS_M, 2, OUTSIDE]
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tiles = batch * BANDS;
    const int warp_m = warp % WARPS_M, row = lane / 4, quarter = lane % 4;
    const int first = warp / WARPS_M * WARP_CHANNELS;

    fetch_lines(image, blockIdx.x, base);
    commit();
    clear_sides(shared);
    for (int i = threadIdx.x; i < OUTSIDE * TAPS; i += THREADS) {
        u32 four[HELD] = {0u, 0u, 0u, 0u};
#pragma unroll
        for (int c = 0; c < INSIDE; c++) four[c] = kernel[i * INSIDE + c];
        uint2* const to = reinterpret_cast<uint2*>(shared + WEIGHTS_AT + i * PIXEL);
        *to = make_uint2(four[0] | four[1] << 16, four[2] | four[3] << 16);
    }
    __syncthreads();

    // This thread's tap of each step; those beyond the ninth have no weight, and read what the ninth reads.
    u32 weights[STEPS][NT][2];
    int shift[STEPS];
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        const int tap = min(step * 4 + quarter, TAPS - 1);
        shift[step] = tap / 3 * LINE + tap % 3 * PIXEL;
#pragma unroll
        for (int n = 0; n < NT; n++) {
            // Column 2·t + i of these eight is channel 8·t + 2·n + i, which the thread that has it writes out.
            const int channel = first + row / 2 * 8 + n * 2 + row % 2;
            const uint2 both = *reinterpret_cast<const uint2*>(shared + WEIGHTS_AT + (channel * TAPS + tap) * PIXEL);
            weights[step][n][0] = step * 4 + quarter < TAPS ? both.x : 0u;
            weights[step][n][1] = step * 4 + quarter < TAPS ? both.y : 0u;
        }
    }
    const int pixel = warp_m * WARP_PIXELS + row;  // The first of this thread.
    const int corner = pixel / WIDTH * LINE + (pixel % WIDTH + BEFORE - 1) * PIXEL;

#pragma unroll 1
    for (int count = 0, tile = blockIdx.x; tile < tiles; count++, tile += gridDim.x) {
        const int next = tile + gridDim.x;
        if (next < tiles) {
            fetch_lines(image, next, base + (count + 1) % 2 * LINES_BYTES);
            commit();
            wait_but<1>();
        } else {
            wait_but<0>();
        }
        __syncthreads();

        const unsigned char* const window = shared + count % 2 * LINES_BYTES + corner;
        Eight kept[MT * 2];  // Of every eighth pixel.
#pragma unroll
        for (int m = 0; m < MT; m++) {
            const unsigned char* const from = window + m * 16 / WIDTH * LINE + m * 16 % WIDTH * PIXEL;
            float total[NT][4];
#pragma unroll
            for (int n = 0; n < NT; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) total[n][i] = 0.0f;
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                const uint2 one = *reinterpret_cast<const uint2*>(from + shift[step]);
                const uint2 two = *reinterpret_cast<const uint2*>(from + shift[step] + 8 * PIXEL);
                const u32 a[4] = {one.x, two.x, one.y, two.y};
#pragma unroll
                for (int n = 0; n < NT; n++) multiply(total[n], a, weights[step][n]);
            }
#pragma unroll
            for (int n = 0; n < NT; n++) {
                kept[m * 2].pair[n] = pack(total[n][0], total[n][1]);
                kept[m * 2 + 1].pair[n] = pack(total[n][2], total[n][3]);
            }
        }
        u16* const to = out + ((long long)tile * TILE + pixel) * OUTSIDE + first + quarter * 8;
#pragma unroll
        for (int m = 0; m < MT * 2; m++) {  // Last, since the compiler moves no reads across these.
            const u32* const pair = kept[m].pair;
            store16(to + m * 8 * OUTSIDE, pair[0], pair[1], pair[2], pair[3]);
        }

        // Moments: of this thread's pixels, then with those of the lanes that have the same channels. Two of these
        // halve their channels between each other, so that few are exchanged and each is left with one.
        float mean[8], spread[8], values[8];
#pragma unroll
        for (int i = 0; i < 8; i++) mean[i] = spread[i] = 0.0f;
#pragma unroll
        for (int m = 0; m < MT * 2; m++) {
            unpack(kept[m], values);
#pragma unroll
            for (int i = 0; i < 8; i++) mean[i] += values[i];
        }
#pragma unroll
        for (int i = 0; i < 8; i++) mean[i] *= 1.0f / (MT * 2);
#pragma unroll
        for (int m = 0; m < MT * 2; m++) {
            unpack(kept[m], values);
#pragma unroll
            for (int i = 0; i < 8; i++) spread[i] += (values[i] - mean[i]) * (values[i] - mean[i]);
        }
#pragma unroll
        for (int mask = 16, half = 4; half; mask /= 2, half /= 2) {
            const bool upper = lane & mask;
#pragma unroll
            for (int i = 0; i < half; i++) {
                const float other_mean = from_lane(upper ? mean[i] : mean[i + half], mask);
                const float other_spread = from_lane(upper ? spread[i] : spread[i + half], mask);
                mean[i] = upper ? mean[i + half] : mean[i];
                spread[i] = upper ? spread[i + half] : spread[i];
                merge(mean[i], spread[i], other_mean, other_spread, MT * 2 * 4 / half);
            }
        }
        const int left = first + quarter * 8 + row;
        room[warp_m * 2 * OUTSIDE + left] = mean[0];
        room[(warp_m * 2 + 1) * OUTSIDE + left] = spread[0];
        __syncthreads();  // From here on the next but one tile may come in.
        if (threadIdx.x < OUTSIDE) {
            float means[WARPS_M], spreads[WARPS_M];
#pragma unroll
            for (int w = 0; w < WARPS_M; w++) {
                means[w] = room[w * 2 * OUTSIDE + threadIdx.x];
                spreads[w] = room[(w * 2 + 1) * OUTSIDE + threadIdx.x];
            }
#pragma unroll
            for (int apart = 1; apart < WARPS_M; apart *= 2)
#pragma unroll
                for (int w = 0; w < WARPS_M; w += 2 * apart)
                    merge(means[w], spreads[w], means[w + apart], spreads[w + apart], WARP_PIXELS * apart);
            partial[(long long)tile * 2 * OUTSIDE + threadIdx.x] = means[0];
            partial[((long long)tile * 2 + 1) * OUTSIDE + threadIdx.x] = spreads[0];
        }
    }
}

// Brings a tile of the gradient in and the image's lines. The chunks of eight channels of a pixel are in another order,
// so that the same chunk of eight even or odd neighbours is in different banks.
DEVICE void fetch_tile(const u16* image, const u16* grad, int tile, u32 base, int place) {
    const int chunk = threadIdx.x % CHUNKS, own = threadIdx.x / CHUNKS;
    constexpr int step = THREADS / CHUNKS;  // A multiple of 16, so that the order is the same for all of a thread's.
    const u16* const from = grad + ((long long)tile * TILE + own) * OUTSIDE + chunk * 8;
    const u32 to = base + place * GRAD_BYTES + own * ROW + (chunk ^ own / 2 % 8) * 16;
    static_assert(step % 16 == 0, "see above");
#pragma unroll
    for (int i = 0; i < TILE / step; i++) copy16(to + i * step * ROW, from + i * step * OUTSIDE, true);
    fetch_lines(image, tile, base + IMAGES_AT + place * LINES_BYTES);
    commit();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
stem_sums(const u16* image, const u16* grad, float* partial, int batch) {
    const u32 base = shared_address(shared);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tiles = batch * BANDS;
    const int warp_m = warp % 2, part = warp / 2, odd = part % 2;

    fetch_tile(image, grad, blockIdx.x, base, 0);
    clear_sides(shared + IMAGES_AT);

    // Of this part's pixels, all even or all odd, a product takes 16. A lane says where one of them lies: of the
    // gradient eight channels, of the image two of the four pixels that its window lies in.
    constexpr int across = WIDTH / 2;  // Such pixels of a line.
    const int start = part / 2 * PART_PIXELS;
    const int grad_pixel = start + lane / 16 * 8 + lane % 8, image_pixel = start + lane / 8 % 2 * 8 + lane % 8;
    u32 grads_at[2];
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const int chunk = warp_m * 4 + m * 2 + lane / 8 % 2;
        grads_at[m] = base + (grad_pixel * 2 + odd) * ROW + (chunk ^ grad_pixel % 8) * 16;
    }
    const int column = (image_pixel % across + odd + lane / 16) * 2;
    const u32 images_at = base + IMAGES_AT + image_pixel / across * LINE + column * PIXEL;

    float total[2][3][2][4];  // [16 channels, line of taps, two pixels, …]
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int down = 0; down < 3; down++)
#pragma unroll
            for (int i = 0; i < 8; i++) total[m][down][i / 4][i % 4] = 0.0f;

#pragma unroll 1
    for (int count = 0, tile = blockIdx.x; tile < tiles; count++, tile += gridDim.x) {
        const int next = tile + gridDim.x;
        if (next < tiles) {
            fetch_tile(image, grad, next, base, (count + 1) % 2);
            wait_but<1>();
        } else {
            wait_but<0>();
        }
        __syncthreads();
        const u32 grads = count % 2 * GRAD_BYTES, images = images_at + count % 2 * LINES_BYTES;
#pragma unroll
        for (int strip = 0; strip < PART_PIXELS / STRIP; strip++) {
            const int before = strip * STRIP;
            u32 a[2][4], b[3][4];
#pragma unroll
            for (int m = 0; m < 2; m++) load_tiles<true>(a[m], grads_at[m] + grads + before * 2 * ROW);
#pragma unroll
            for (int down = 0; down < 3; down++)
                load_tiles<true>(b[down], images + (before / across + down) * LINE + before % across * 2 * PIXEL);
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int down = 0; down < 3; down++)
#pragma unroll
                    for (int pair = 0; pair < 2; pair++) multiply(total[m][down][pair], a[m], b[down] + pair * 2);
        }
        __syncthreads();  // From here on the next but one tile may come in.
    }

    float* const room = reinterpret_cast<float*>(shared);  // [PARTS, OUTSIDE, TAPS, HELD], where gradients were.
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int down = 0; down < 3; down++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int pair = i / 2, half = i % 2;
                const int channel = warp_m * 32 + m * 16 + half * 8 + lane / 4;
                const int aside = pair * 2 + lane % 4 / 2 - 1 + odd;
                if (aside < 0 || aside > 2) continue;  // The column that is left over.
                float* const to = room + ((part * OUTSIDE + channel) * TAPS + down * 3 + aside) * HELD + lane % 2 * 2;
                const float* const two = total[m][down][pair] + half * 2;
                *reinterpret_cast<float2*>(to) = make_float2(two[0], two[1]);
            }
    __syncthreads();
    const float4* const parts = reinterpret_cast<const float4*>(shared);
    float4* const to = reinterpret_cast<float4*>(partial) + (long long)blockIdx.x * FOURS;
    for (int i = threadIdx.x; i < FOURS; i += THREADS) {
        float4 sum = parts[i];
#pragma unroll
        for (int p = 1; p < PARTS; p++) {
            const float4 more = parts[p * FOURS + i];
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        to[i] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(JOIN_THREADS)
stem_join(const float* partial, void* result, int programs) {
    float4* const room = reinterpret_cast<float4*>(shared);  // [JOIN_WARPS, JOINED]
    const int warp = threadIdx.x / 32, column = threadIdx.x % JOINED, four = blockIdx.x * JOINED + column;
    const float4* const from = reinterpret_cast<const float4*>(partial) + four;
    float sum[HELD] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 8
    for (int program = threadIdx.x / JOINED; program < programs; program += JOIN_THREADS / JOINED) {
        const float4 more = from[(long long)program * FOURS];
        sum[0] += more.x, sum[1] += more.y, sum[2] += more.z, sum[3] += more.w;
    }
#pragma unroll
    for (int mask = JOINED; mask < 32; mask *= 2)
#pragma unroll
        for (int c = 0; c < HELD; c++) sum[c] += from_lane(sum[c], mask);
    if (threadIdx.x % 32 < JOINED) room[warp * JOINED + column] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    __syncthreads();
    if (threadIdx.x >= JOINED) return;
#pragma unroll
    for (int w = 1; w < JOIN_WARPS; w++) {
        const float4 more = room[w * JOINED + column];
        sum[0] += more.x, sum[1] += more.y, sum[2] += more.z, sum[3] += more.w;
    }
#pragma unroll
    for (int c = 0; c < INSIDE; c++) {
        if (LOW) static_cast<u16*>(result)[four * INSIDE + c] = (u16)pack(sum[c], 0.0f);
        else static_cast<float*>(result)[four * INSIDE + c] = sum[c];
    }
}
