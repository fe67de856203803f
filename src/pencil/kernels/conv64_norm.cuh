// What stands before the convolution of conv64.cu: a normalisation, perhaps a sum, and a ReLU, all as in norm.cu.
//
// Forward, pixels are activated on their way in. Backward, gradients go through the ReLU on their way out.

struct Before {
    const u16 *x, *other, *y;  // Backward: what was normalised, the other gradient, and what the ReLU gave.
    u16* active;               // Forward: what the ReLU gives.
    const float *moments, *weight, *bias;
    float *running_mean, *running_var;
    long long* batches;
    float momentum, eps;
};

#if NORM
struct Normal {  // Of a thread's eight channels. The mean has also gone into the offset.
    float mean[8], scale[8], offset[8];
};

DEVICE float* floats_at(int at) { return reinterpret_cast<float*>(shared + at); }

// Puts aside what all threads need of a channel; forward, one program keeps its running statistics.
DEVICE void keep_normal(const Before& before, int channel, int rows) {
    const float mean = before.moments[channel], variance = before.moments[CHANNELS + channel];
    const float scale = before.weight[channel] * inverse_root(variance + before.eps), bias = before.bias[channel];
    float* const to = floats_at(NORMAL_AT);
    to[channel] = mean;
    to[CHANNELS + channel] = scale;
    to[2 * CHANNELS + channel] = bias - mean * scale;  // Far more exact than what it is added to.
    if (TURNED || blockIdx.x > 0) return;
    const float old_mean = before.running_mean[channel], old_variance = before.running_var[channel];
    const float unbiased = variance * ((float)rows / (rows - 1));
    before.running_mean[channel] = old_mean + before.momentum * (mean - old_mean);
    before.running_var[channel] = old_variance + before.momentum * (unbiased - old_variance);
    if (channel == 0) *before.batches += 1;
}

// Backward it is read anew for each tile: while products are summed there are no registers.
DEVICE Normal normal_of(int chunk) {
    Normal normal;
    const float4* const from = reinterpret_cast<const float4*>(floats_at(NORMAL_AT)) + chunk * 2;
    float* const to[3] = {normal.mean, normal.scale, normal.offset};
#pragma unroll
    for (int kind = TURNED ? 0 : 1; kind < (ADD ? 1 : 3); kind++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float4 four = from[kind * CHANNELS / 4 + half];
            to[kind][half * 4] = four.x, to[kind][half * 4 + 1] = four.y;
            to[kind][half * 4 + 2] = four.z, to[kind][half * 4 + 3] = four.w;
        }
    return normal;
}

DEVICE u32 pair_of(const uint4& all, int i) { return i == 0 ? all.x : i == 1 ? all.y : i == 2 ? all.z : all.w; }
DEVICE float one_of(const uint4& all, int i) { return i % 2 ? high(pair_of(all, i / 2)) : low(pair_of(all, i / 2)); }

DEVICE uint4 activated(const uint4& given, const Normal& normal) {
    float values[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        values[i] = one_of(given, i) * normal.scale[i] + normal.offset[i];
        if (values[i] < 0.0f) values[i] = 0.0f;  // What is no number stays none, as with torch.
    }
    return make_uint4(pack(values[0], values[1]), pack(values[2], values[3]), pack(values[4], values[5]),
                      pack(values[6], values[7]));
}

struct Beside {  // What lies beside some pixels of a gradient.
    uint4 x[AT_ONCE], other[AT_ONCE], y[AT_ONCE];
};

DEVICE void ask(Beside& to, const Before& before, long long at) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        const long long from = at + i * STEP * CHANNELS;
        to.x[i] = read16(before.x + from);
        if (BOTH) to.other[i] = read16(before.other + from);
        if (ADD) to.y[i] = read16(before.y + from);
    }
}

// Returns what the ReLU let through of a pixel's gradient; sums[2, 8] are of passed·(x − mean) and of passed.
DEVICE uint4 let_through(const uint4& grad, const Beside& beside, int which, const Normal& normal, float (&sums)[2][8]) {
    u32 passed[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 pair = pair_of(grad, i);
        if (BOTH) {
            const u32 more = pair_of(beside.other[which], i);
            pair = pack(low(pair) + low(more), high(pair) + high(more));  // Rounded, as torch rounds such a sum.
        }
        const u32 given = pair_of(beside.x[which], i);
        const float away[2] = {low(given) - normal.mean[2 * i], high(given) - normal.mean[2 * i + 1]};
        float shown[2];  // What the ReLU was given, or what it gave.
#pragma unroll
        for (int k = 0; k < 2; k++)
            shown[k] = ADD ? one_of(beside.y[which], 2 * i + k)
                           : one_of(beside.x[which], 2 * i + k) * normal.scale[2 * i + k] + normal.offset[2 * i + k];
        if (shown[0] <= 0.0f) pair &= 0xffff0000u;
        if (shown[1] <= 0.0f) pair &= 0x0000ffffu;
        sums[0][2 * i] += low(pair) * away[0], sums[0][2 * i + 1] += high(pair) * away[1];
        sums[1][2 * i] += low(pair), sums[1][2 * i + 1] += high(pair);
        passed[i] = pair;
    }
    return make_uint4(passed[0], passed[1], passed[2], passed[3]);
}

// Adds up the sums of a warp group's threads, at a place that is its own by then: partial[2 · programs, 2, channels].
DEVICE void finish(float (&sums)[2][8], float* partial, int group, int thread) {
    const int warp = thread / 32, lane = thread % 32;
    float* const place = floats_at(group * BAND_BYTES);
#pragma unroll
    for (int kind = 0; kind < 2; kind++)
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float& sum = sums[kind][i];
            for (int mask = CHUNKS; mask < 32; mask *= 2) sum += from_lane(sum, mask);
            if (lane < CHUNKS) place[(warp * 2 + kind) * CHANNELS + lane * 8 + i] = sum;
        }
    meet(2 + group, 128);
    float all = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; w++) all += place[w * 2 * CHANNELS + thread];
    partial[((long long)blockIdx.x * 2 + group) * 2 * CHANNELS + thread] = all;
}
#endif
