// A 3×3 convolution of stride 1 over rows of channels in bfloat16, with what stands around it.
//
// A program holds some lines of an image and the pixels around them in shared memory, so that each is read from the
// device's memory about once, and multiplies nine shifted views of them on the tensor cores. Forward it may normalise
// and activate its input on the way in (and keep that for the weights' gradient), adds the shortcut, and takes the
// moments of what it wrote; backward, with the weights turned round, it applies the ReLU before the convolution and
// takes the sums of its normalisation. The sums are those of one program; they are joined in a fixed order elsewhere.
//
// Sizes are constants of the compilation:
//   INSIDE, OUTSIDE   channels read and written           PART           of OUTSIDE, by one program
//   HEIGHT, WIDTH     of an image                          IMAGES, LINES  held by one program
//   WARPS_M, WARPS_N  warps along rows and channels        MT, NT         16-row and 8-channel tiles of a warp
//   RING              taps of weights in flight, plus one  TURNED         towards the input
//   NORM              normalise the input                  EXTRA          add a shortcut

#include "mma.cuh"

constexpr int PIXEL = INSIDE * 2 + 16;  // Bytes; the padding spreads eight neighbours over all banks.
constexpr int ACROSS = WIDTH + 2, DOWN = LINES + 2;
constexpr int ROWS = IMAGES * LINES * WIDTH;
constexpr int THREADS = WARPS_M * WARPS_N * 32;
constexpr int TAP_ROWS = TURNED ? INSIDE : PART, TAP_WIDE = TURNED ? PART : INSIDE;
constexpr int TAP_PITCH = TAP_WIDE * 2 + 16, TAP_BYTES = TAP_ROWS * TAP_PITCH;
constexpr int IMAGE_BYTES = IMAGES * DOWN * ACROSS * PIXEL;
constexpr int RESULT_PITCH = PART + 4;  // Floats; neighbouring rows start in other banks.
constexpr int IN_CHUNKS = INSIDE / 8, OUT_CHUNKS = PART / 8;  // Eight channels, 16 bytes.
constexpr int INNER = IMAGES * DOWN * WIDTH;                 // Pixels under its lines, without the columns beside.
constexpr int IN_STEP = THREADS / IN_CHUNKS, OUT_STEP = THREADS / OUT_CHUNKS;
constexpr int AT_ONCE = 4;  // Reads of a thread under way.

static_assert(ROWS == WARPS_M * MT * 16 && PART == WARPS_N * NT * 8, "the warps must cover what a program writes");
static_assert(THREADS % IN_CHUNKS == 0 && THREADS % OUT_CHUNKS == 0, "a thread keeps its channels");
static_assert(IMAGES == 1 || LINES == HEIGHT, "several images are taken whole");
static_assert(RING >= 2 && RING <= 9, "the ring holds some of the nine taps");
static_assert(HEIGHT % LINES == 0 && NT % 2 == 0 && OUT_CHUNKS <= 32, "tiles must divide");

DEVICE void read_floats(const float* from, float* values) {  // Eight.
    const float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}
DEVICE void write_pair(float* to, const float* values) {
    *reinterpret_cast<float2*>(to) = make_float2(values[0], values[1]);
}

struct Normal {  // Of a thread's eight channels.
    float mean[8], scale[8], offset[8], inverse[8];
};

DEVICE Normal normal_of(const float* moments, const float* weight, const float* bias, int first, int channels, float eps) {
    Normal normal;
    read_floats(moments + first, normal.mean);
    read_floats(moments + channels + first, normal.inverse);
    read_floats(weight + first, normal.scale);
    read_floats(bias + first, normal.offset);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        normal.inverse[i] = inverse_root(normal.inverse[i] + eps);
        normal.scale[i] *= normal.inverse[i];
    }
    return normal;
}

struct Spot {  // Of a pixel under the lines of a program.
    int held;       // Its place in shared memory, in pixels.
    long long row;  // Its place in memory.
    bool there;     // It lies in an image,
    bool own;       // and in one of the program's lines, not beside them.
};

DEVICE Spot spot_of(int pixel, int first_image, int first_line, int batch) {
    const int column = pixel % WIDTH, below = pixel / WIDTH, inner = below % DOWN - 1;
    const int picture = first_image + below / DOWN, line = inner + first_line;
    const bool there = pixel < INNER && picture < batch && line >= 0 && line < HEIGHT;
    const long long row = there ? (long long)(picture * HEIGHT + line) * WIDTH + column : 0;
    return Spot{below * ACROSS + column + 1, row, there, inner >= 0 && inner < LINES};
}

DEVICE void fetch_tap(int tap, u32 slot, const u16* kernel, int first) {
    const int memory_tap = TURNED ? 8 - tap : tap, wide = TURNED ? OUTSIDE : INSIDE;
    constexpr int chunks = TAP_WIDE / 8;
    for (int i = threadIdx.x; i < TAP_ROWS * chunks; i += THREADS) {
        const int row = i / chunks, chunk = i % chunks;
        const u16* from = TURNED ? kernel + (row * 9 + memory_tap) * wide + first + chunk * 8
                                 : kernel + ((first + row) * 9 + memory_tap) * wide + chunk * 8;
        copy16(slot + row * TAP_PITCH + chunk * 16, from, true);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv3x3(const u16* image, const u16* kernel, u16* out, float* partial, const u16* extra, const float* moments,
        const float* weight, const float* bias, u16* active, float* running_mean, float* running_var,
        long long* batches, int batch, double momentum, double eps) {
    unsigned char* const pixels = shared;
    const u32 pixels_at = shared_address(shared), taps_at = pixels_at + IMAGE_BYTES;
    const int slab = blockIdx.x, first = blockIdx.y * PART;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    constexpr int bands = HEIGHT / LINES;
    const int first_image = slab / bands * IMAGES, first_line = slab % bands * LINES;

    // The columns beside the image, and what is copied as it is.
    for (int i = threadIdx.x; i < IMAGES * DOWN * 2 * IN_CHUNKS; i += THREADS) {
        const int line = i / (2 * IN_CHUNKS), side = i / IN_CHUNKS % 2 * (ACROSS - 1), chunk = i % IN_CHUNKS;
        write16(pixels + (line * ACROSS + side) * PIXEL + chunk * 16, Eight{{0u, 0u, 0u, 0u}});
    }
    const int own_chunk = threadIdx.x % IN_CHUNKS, own_pixel = threadIdx.x / IN_CHUNKS;
    if (!NORM) {
        for (int pixel = own_pixel; pixel < INNER; pixel += IN_STEP) {
            const Spot spot = spot_of(pixel, first_image, first_line, batch);
            copy16(pixels_at + spot.held * PIXEL + own_chunk * 16, image + spot.row * INSIDE + own_chunk * 8, spot.there);
        }
    }
#pragma unroll
    for (int tap = 0; tap < RING - 1; tap++) {
        fetch_tap(tap, taps_at + tap * TAP_BYTES, kernel, first);
        commit();
    }
    if (NORM) {
        const Normal normal = normal_of(moments, weight, bias, own_chunk * 8, INSIDE, (float)eps);
        for (int start = own_pixel; start < INNER; start += IN_STEP * AT_ONCE) {
            Eight found[AT_ONCE];  // All are asked for before the first is needed.
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                const Spot spot = spot_of(start + j * IN_STEP, first_image, first_line, batch);
                found[j] = Eight{{0u, 0u, 0u, 0u}};
                if (spot.there) found[j] = read16(image + spot.row * INSIDE + own_chunk * 8);
            }
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                const int pixel = start + j * IN_STEP;
                const Spot spot = spot_of(pixel, first_image, first_line, batch);
                if (spot.there) {
                    float values[8];
                    unpack(found[j], values);
#pragma unroll
                    for (int i = 0; i < 8; i++)
                        values[i] = fmaxf((values[i] - normal.mean[i]) * normal.scale[i] + normal.offset[i], 0.0f);
                    found[j] = packed(values);
                    if (blockIdx.y == 0 && spot.own) write16(active + spot.row * INSIDE + own_chunk * 8, found[j]);
                }
                if (pixel < INNER) write16(pixels + spot.held * PIXEL + own_chunk * 16, found[j]);
            }
        }
        if (slab == 0 && blockIdx.y == 0) {  // Once: the running variance is the unbiased one.
            const double rows = (double)batch * HEIGHT * WIDTH;
            for (int c = threadIdx.x; c < INSIDE; c += THREADS) {
                const float fresh = moments[INSIDE + c] * (float)(rows / (rows > 1 ? rows - 1 : 1));
                running_mean[c] += (float)momentum * (moments[c] - running_mean[c]);
                running_var[c] += (float)momentum * (fresh - running_var[c]);
            }
            if (threadIdx.x == 0) *batches += 1;
        }
    }

    u32 rows_at[MT];
#pragma unroll
    for (int m = 0; m < MT; m++) {
        const int row = (warp_m * MT + m) * 16 + lane % 16;
        const int picture = row / (LINES * WIDTH), line = row / WIDTH % LINES, column = row % WIDTH;
        rows_at[m] = pixels_at + ((picture * DOWN + line) * ACROSS + column) * PIXEL + lane / 16 * 16;
    }
    const int tap_lane = TURNED ? (lane % 16) * TAP_PITCH + (warp_n * NT * 8 + lane / 16 * 8) * 2
                                : (warp_n * NT * 8 + lane % 8 + lane / 16 * 8) * TAP_PITCH + lane / 8 % 2 * 16;
    constexpr int along = TURNED ? 16 * TAP_PITCH : 32, aside = TURNED ? 32 : 16 * TAP_PITCH;

    float total[MT][NT][4];
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) total[m][n][i] = 0.0f;

#pragma unroll 1
    for (int tap = 0; tap < 9; tap++) {
        wait_but<RING - 2>();
        __syncthreads();
        const int next = tap + RING - 1;
        if (next < 9) fetch_tap(next, taps_at + next % RING * TAP_BYTES, kernel, first);
        commit();
        const u32 weights = taps_at + tap % RING * TAP_BYTES + tap_lane;
        const u32 shift = (tap / 3 * ACROSS + tap % 3) * PIXEL;
#pragma unroll
        for (int k = 0; k < INSIDE / 16; k++) {
            u32 b[NT][2];
#pragma unroll
            for (int n = 0; n < NT; n += 2) load_tiles<TURNED>(b[n], weights + k * along + n / 2 * aside);
#pragma unroll
            for (int m = 0; m < MT; m++) {
                u32 a[4];
                load_tiles<false>(a, rows_at[m] + shift + k * 32);
#pragma unroll
                for (int n = 0; n < NT; n++) multiply(total[m][n], a, b[n]);
            }
        }
    }
    __syncthreads();

    float* const result = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = (warp_m * MT + m) * 16 + lane / 4 + half * 8;
                write_pair(result + row * RESULT_PITCH + (warp_n * NT + n) * 8 + lane % 4 * 2, total[m][n] + half * 2);
            }
    __syncthreads();

    const int chunk = threadIdx.x % OUT_CHUNKS, channel = first + chunk * 8;
    const int count = min(ROWS, batch * HEIGHT * WIDTH - slab * ROWS);
    const long long from = (long long)slab * ROWS * OUTSIDE + channel;
    float one[8], two[8], shift[8];
    Normal normal;
    if (TURNED) normal = normal_of(moments, weight, bias, channel, OUTSIDE, (float)eps);
    if (!TURNED && EXTRA) unpack(read16(extra + from), shift);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        one[i] = two[i] = 0.0f;
        // Moments are taken about a value that lies among theirs: no digits are lost.
        if (!TURNED) shift[i] = result[chunk * 8 + i] + (EXTRA ? shift[i] : 0.0f);
    }
    for (int start = threadIdx.x / OUT_CHUNKS; start < count; start += OUT_STEP * AT_ONCE) {
        Eight found[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if ((TURNED || EXTRA) && start + j * OUT_STEP < count)
                found[j] = read16(extra + from + (long long)(start + j * OUT_STEP) * OUTSIDE);
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const int row = start + j * OUT_STEP;
            if (row >= count) continue;
            float values[8], beside[8];
            if (TURNED || EXTRA) unpack(found[j], beside);
            read_floats(result + row * RESULT_PITCH + chunk * 8, values);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (TURNED) {
                    beside[i] -= normal.mean[i];
                    values[i] = beside[i] * normal.scale[i] + normal.offset[i] > 0.0f ? values[i] : 0.0f;
                } else if (EXTRA) {
                    values[i] += beside[i];
                }
            }
            const Eight rounded = packed(values);
            write16(out + from + (long long)row * OUTSIDE, rounded);
            unpack(rounded, values);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const float away = TURNED ? values[i] : values[i] - shift[i];
                one[i] += TURNED ? away * beside[i] : away;
                two[i] += TURNED ? away : away * away;
            }
        }
    }
    __syncthreads();

    float* const sums = result;  // [warps, 2, PART]
#pragma unroll
    for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int mask = OUT_CHUNKS; mask < 32; mask *= 2) {
            one[i] += from_lane(one[i], mask);
            two[i] += from_lane(two[i], mask);
        }
        if (lane < OUT_CHUNKS) {
            sums[(warp * 2) * PART + chunk * 8 + i] = one[i];
            sums[(warp * 2 + 1) * PART + chunk * 8 + i] = two[i];
        }
        if (!TURNED && threadIdx.x < OUT_CHUNKS) sums[THREADS / 32 * 2 * PART + chunk * 8 + i] = shift[i];
    }
    __syncthreads();
    for (int c = threadIdx.x; c < PART; c += THREADS) {
        float a = 0.0f, b = 0.0f;
        for (int w = 0; w < THREADS / 32; w++) {
            a += sums[(w * 2) * PART + c];
            b += sums[(w * 2 + 1) * PART + c];
        }
        if (TURNED) {
            a *= inverse_root(moments[OUTSIDE + first + c] + (float)eps);
        } else {
            b -= a * a / count;
            a = sums[THREADS / 32 * 2 * PART + c] + a / count;
        }
        partial[(slab * 2) * OUTSIDE + first + c] = a;
        partial[(slab * 2 + 1) * OUTSIDE + first + c] = b;
    }
}
