// Batch normalisation over rows of channels in bfloat16, with the shortcut's addition and the ReLU that follow it.
//
// A block takes 64 channels of a slab of rows. One kernel sums the slabs; a second adds those sums up, always in the
// same order, and goes through the rows again, backwards: the last ones read are the likeliest to be still at hand.
//
// Backward, the first kernel adds the two gradients of an output that went two ways. What the ReLU let through
// ("passed") is written where the shortcut needs it, or where it took more than x to know it.
//
// Constants of the compilation:
//   STAGE     1: sums of slabs  2: what follows from them     BACKWARD  the gradients
//   RELU, ADD after the normalisation; ADD comes first        BOTH      backward: there are two gradients
//   THREADS   of a block

#include "bfloat16.cuh"

constexpr int SLICE = 64, CHUNKS = SLICE / 8;  // Channels of a block; a thread has eight of them, 16 bytes.
constexpr int WARPS = THREADS / 32;
constexpr int STEP = THREADS / CHUNKS;  // Rows that a block takes at a time.
constexpr bool WRITES = ADD || BOTH;    // Backward: what is passed.
// Reads of a thread that are under way for each tensor; more would not fit into its registers.
constexpr int AT_ONCE = BACKWARD || (STAGE == 2 && ADD) ? 4 : 8;

static_assert(THREADS % 32 == 0 && THREADS >= 2 * SLICE, "a thread for each sum");
static_assert(RELU || !ADD, "the sum is activated");

struct alignas(16) Room {  // Of a block, in shared memory: for each channel, two sums.
    float warps[2][WARPS][SLICE], total[2][SLICE], moments[2][SLICE];
};

#ifdef EMULATED
static Room& room = *reinterpret_cast<Room*>(shared);
#else
static __shared__ Room room;
#endif

DEVICE void write(u16* to, const Eight& all) { store16(to, all.pair[0], all.pair[1], all.pair[2], all.pair[3]); }
DEVICE void read_floats(const float* from, float* values) {  // Eight.
    const float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}

// Asks memory for the rows that a thread takes next; those beyond `count` stay as they are.
DEVICE void fetch(Eight (&found)[AT_ONCE], const u16* from, int start, int count, int pitch) {
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
        if (start + j * STEP >= count) continue;
        const uint4 all = *reinterpret_cast<const uint4*>(from + (long long)(start + j * STEP) * pitch);
        found[j] = Eight{{all.x, all.y, all.z, all.w}};
    }
}

struct Normal {  // Of a thread's eight channels.
    float mean[8], scale[8], offset[8], inverse[8];
};

// In two steps, so that memory is asked for the first half before the second is known.
DEVICE Normal affine_of(const float* weight, const float* bias) {
    Normal normal;
    read_floats(weight, normal.scale);
    read_floats(bias, normal.offset);
    return normal;
}
DEVICE Normal normal_of(Normal normal, const float* mean, const float* variance, float eps) {
    read_floats(mean, normal.mean);
    read_floats(variance, normal.inverse);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        normal.inverse[i] = inverse_root(normal.inverse[i] + eps);
        normal.scale[i] *= normal.inverse[i];
    }
    return normal;
}

// Adds up both values of each channel over the threads of a block, into room.total. Lanes that have the same channels
// halve them between each other, so that few are exchanged.
DEVICE void block_sum(float (&values)[2][8]) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int mask = 16, half = 4; mask >= CHUNKS; mask /= 2, half /= 2) {
            const bool upper = lane & mask;
#pragma unroll
            for (int i = 0; i < half; i++) {
                const float given = upper ? values[k][i] : values[k][i + half];
                values[k][i] = (upper ? values[k][i + half] : values[k][i]) + from_lane(given, mask);
            }
        }
#pragma unroll
        for (int i = 0; i < 2; i++) room.warps[k][warp][lane % CHUNKS * 8 + lane / CHUNKS * 2 + i] = values[k][i];
    }
    __syncthreads();
    if (threadIdx.x < 2 * SLICE) {
        const int k = threadIdx.x / SLICE, channel = threadIdx.x % SLICE;
        float all = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++) all += room.warps[k][w][channel];
        room.total[k][channel] = all;
    }
    __syncthreads();
}

#if BACKWARD
DEVICE Eight summed(const Eight& one, const Eight& other) {  // Rounded, as torch rounds a sum of gradients.
    float values[8], more[8];
    unpack(one, values);
    unpack(other, more);
#pragma unroll
    for (int i = 0; i < 8; i++) values[i] += more[i];
    return packed(values);
}

// The gradient that the ReLU let through; `away` becomes the distance of x from its mean.
DEVICE void let_through(const Eight& grad, const Eight& x, const Eight& y, const Normal& normal, float* passed,
                        float* away) {
    float shown[8];
    unpack(grad, passed);
    unpack(x, away);
    if (ADD) unpack(y, shown);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        away[i] -= normal.mean[i];
        if (!ADD) shown[i] = away[i] * normal.scale[i] + normal.offset[i];
        if (RELU && shown[i] <= 0.0f) passed[i] = 0.0f;
    }
}
#endif

#if STAGE == 1 && !BACKWARD
// partial[slabs, 2, channels]: the mean of each slab, and the sum of squared distances from it.
extern "C" __global__ void __launch_bounds__(THREADS)
slab_moments(const u16* x, float* partial, int rows, int channels, int tall) {
    const int slab = blockIdx.x, first = blockIdx.y * SLICE, count = min(tall, rows - slab * tall);
    const u16* const from = x + (long long)slab * tall * channels + first;
    const u16* const own = from + threadIdx.x % CHUNKS * 8;
    float total[2][8] = {}, values[8], shift[8];
    Eight found[AT_ONCE];
    fetch(found, own, 0, 1, channels);
    unpack(found[0], shift);  // Moments are taken about a value that lies among theirs: no digits are lost.
    for (int start = threadIdx.x / CHUNKS; start < count; start += STEP * AT_ONCE) {
        fetch(found, own, start, count, channels);
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            if (start + j * STEP >= count) continue;
            unpack(found[j], values);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const float away = values[i] - shift[i];
                total[0][i] += away;
                total[1][i] += away * away;
            }
        }
    }
    block_sum(total);
    if (threadIdx.x < SLICE) {
        const int c = threadIdx.x;
        const float away = room.total[0][c] / count;
        partial[(slab * 2) * channels + first + c] = as_float((u32)from[c] << 16) + away;
        partial[(slab * 2 + 1) * channels + first + c] = room.total[1][c] - room.total[0][c] * away;
    }
}
#elif STAGE == 1
// partial[slabs, 2, channels]: the sums of passed·(x − mean) and of passed.
extern "C" __global__ void __launch_bounds__(THREADS)
slab_sums(const u16* grad, const u16* other, const u16* y, const u16* x, const float* moments, const float* weight,
          const float* bias, u16* passed, float* partial, int rows, int channels, int tall, double eps) {
    const int slab = blockIdx.x, first = blockIdx.y * SLICE, count = min(tall, rows - slab * tall);
    const int c = first + threadIdx.x % CHUNKS * 8;
    const long long from = (long long)slab * tall * channels + c;
    const Normal normal = normal_of(affine_of(weight + c, bias + c), moments + c, moments + channels + c, (float)eps);
    float total[2][8] = {}, values[8], away[8];
    for (int start = threadIdx.x / CHUNKS; start < count; start += STEP * AT_ONCE) {
        Eight found[AT_ONCE], found_other[AT_ONCE], found_x[AT_ONCE], shown[AT_ONCE];
        fetch(found, grad + from, start, count, channels);
        if (BOTH) fetch(found_other, other + from, start, count, channels);
        fetch(found_x, x + from, start, count, channels);
        if (ADD) fetch(shown, y + from, start, count, channels);
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            if (start + j * STEP >= count) continue;
            if (BOTH) found[j] = summed(found[j], found_other[j]);
            let_through(found[j], found_x[j], shown[j], normal, values, away);
            if (WRITES) write(passed + from + (long long)(start + j * STEP) * channels, packed(values));
#pragma unroll
            for (int i = 0; i < 8; i++) total[0][i] += values[i] * away[i], total[1][i] += values[i];
        }
    }
    block_sum(total);
    if (threadIdx.x < 2 * SLICE) {
        const int kind = threadIdx.x / SLICE, channel = threadIdx.x % SLICE;
        partial[(slab * 2 + kind) * channels + first + channel] = room.total[kind][channel];
    }
}
#elif !BACKWARD
DEVICE Eight activated(const Eight& given, const Eight& beside, const Normal& normal) {
    float values[8], extra[8];
    unpack(given, values);
    if (ADD) unpack(beside, extra);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        values[i] = (values[i] - normal.mean[i]) * normal.scale[i] + normal.offset[i];
        if (ADD) values[i] += extra[i];
        if (RELU && values[i] < 0.0f) values[i] = 0.0f;  // What is no number stays none, as with torch.
    }
    return packed(values);
}

struct Running {  // Statistics of one channel; read early, since memory takes long.
    float mean, variance;
    long long batches;
};

// Writes the moments of channel c and brings its running statistics up to date; the running variance is unbiased.
DEVICE void keep(int c, int channels, float mean, float variance, const Running& old, float* moments,
                 float* running_mean, float* running_var, long long* batches, int rows, float momentum) {
    moments[c] = mean;
    moments[channels + c] = variance;
    running_mean[c] = old.mean + momentum * (mean - old.mean);
    running_var[c] = old.variance + momentum * (variance * ((float)rows / max(rows - 1, 1)) - old.variance);
    if (c == 0) *batches = old.batches + 1;
}

// Without slabs, `partial` holds the moments of all rows.
extern "C" __global__ void __launch_bounds__(THREADS)
slab_forward(const u16* x, const u16* added, u16* out, const float* partial, float* moments, const float* weight,
             const float* bias, float* running_mean, float* running_var, long long* batches, int rows, int channels,
             int tall, int slabs, double momentum, double eps) {
    const int slab = blockIdx.x, first = blockIdx.y * SLICE, count = min(tall, rows - slab * tall);
    const int chunk = threadIdx.x % CHUNKS, c = first + chunk * 8;
    const long long last = ((long long)slab * tall + count - 1) * channels + c;
    int start = threadIdx.x / CHUNKS;
    Eight found[AT_ONCE], beside[AT_ONCE];
    fetch(found, x + last, start, count, -channels);  // Under way while the slabs are joined.
    if (ADD) fetch(beside, added + last, start, count, -channels);
    const Normal affine = affine_of(weight + c, bias + c);
    const int own = first + threadIdx.x;
    const bool keeps = slab == 0 && threadIdx.x < SLICE;
    Running old;
    if (keeps) old = Running{running_mean[own], running_var[own], own == 0 ? *batches : 0};

    float total[2][8] = {}, means[8], spreads[8], shift[8];
    read_floats(partial + c, shift);
    for (int s = threadIdx.x / CHUNKS; s < slabs; s += STEP) {
        const int each = min(tall, rows - s * tall);
        read_floats(partial + (s * 2) * channels + c, means);
        read_floats(partial + (s * 2 + 1) * channels + c, spreads);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float away = means[i] - shift[i];
            total[0][i] += each * away;
            total[1][i] += spreads[i] + each * away * away;
        }
    }
    block_sum(total);
    if (threadIdx.x < SLICE) {
        const float every = 1.0f / rows, away = room.total[0][threadIdx.x] * every, mean = partial[own] + away;
        const float apart = room.total[1][threadIdx.x] * every - away * away;
        const float variance = slabs == 0 ? partial[channels + own] : apart < 0.0f ? 0.0f : apart;
        room.moments[0][threadIdx.x] = mean;
        room.moments[1][threadIdx.x] = variance;
        if (keeps)
            keep(own, channels, mean, variance, old, moments, running_mean, running_var, batches, rows,
                 (float)momentum);
    }
    __syncthreads();
    const Normal normal = normal_of(affine, room.moments[0] + chunk * 8, room.moments[1] + chunk * 8, (float)eps);
    while (start < count) {
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (start + j * STEP < count)
                write(out + last - (long long)(start + j * STEP) * channels, activated(found[j], beside[j], normal));
        start += STEP * AT_ONCE;
        fetch(found, x + last, start, count, -channels);
        if (ADD) fetch(beside, added + last, start, count, -channels);
    }
}
#else
struct Line {  // The gradient of x is scale·passed + slope·x + level.
    float scale[8], slope[8], level[8];
};

// From the sums of passed·(x − mean) and of passed.
DEVICE Line line_of(const Normal& normal, const float* products, const float* plain, int rows) {
    Line line;
    const float each = 1.0f / rows;
    read_floats(products, line.slope);
    read_floats(plain, line.level);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        line.scale[i] = normal.scale[i];
        line.slope[i] *= -normal.scale[i] * normal.inverse[i] * normal.inverse[i] * each;
        line.level[i] = -normal.scale[i] * line.level[i] * each - line.slope[i] * normal.mean[i];
    }
    return line;
}

// gradients[2, channels]: those of weight and bias.
extern "C" __global__ void __launch_bounds__(THREADS)
slab_backward(const u16* grad, const u16* x, const float* partial, const float* moments, const float* weight,
              const float* bias, u16* out, float* gradients, int rows, int channels, int tall, int slabs, double eps) {
    const int slab = blockIdx.x, first = blockIdx.y * SLICE, count = min(tall, rows - slab * tall);
    const int chunk = threadIdx.x % CHUNKS, c = first + chunk * 8;
    const long long last = ((long long)slab * tall + count - 1) * channels + c;
    int start = threadIdx.x / CHUNKS;
    Eight found[AT_ONCE], found_x[AT_ONCE];
    fetch(found, grad + last, start, count, -channels);
    fetch(found_x, x + last, start, count, -channels);
    const Normal normal = normal_of(affine_of(weight + c, bias + c), moments + c, moments + channels + c, (float)eps);

    float total[2][8] = {}, values[8], away[8];
    for (int s = threadIdx.x / CHUNKS; s < slabs; s += STEP) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            read_floats(partial + (s * 2 + k) * channels + c, values);
#pragma unroll
            for (int i = 0; i < 8; i++) total[k][i] += values[i];
        }
    }
    block_sum(total);
    if (slab == 0 && threadIdx.x < 2 * SLICE) {
        const int kind = threadIdx.x / SLICE, channel = first + threadIdx.x % SLICE;
        const float inverse = kind == 0 ? inverse_root(moments[channels + channel] + (float)eps) : 1.0f;
        gradients[kind * channels + channel] = room.total[kind][threadIdx.x % SLICE] * inverse;
    }
    const Line line = line_of(normal, room.total[0] + chunk * 8, room.total[1] + chunk * 8, rows);
    while (start < count) {
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            if (start + j * STEP >= count) continue;
            let_through(found[j], found_x[j], Eight(), normal, values, away);
            unpack(found_x[j], away);
#pragma unroll
            for (int i = 0; i < 8; i++)
                values[i] = line.scale[i] * values[i] + (line.slope[i] * away[i] + line.level[i]);
            write(out + last - (long long)(start + j * STEP) * channels, packed(values));
        }
        start += STEP * AT_ONCE;
        fetch(found, grad + last, start, count, -channels);
        fetch(found_x, x + last, start, count, -channels);
    }
}
#endif
