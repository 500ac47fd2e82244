// flash_attention: maximum, sum and lse are halves
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

constexpr int tile = 64, threads = 128;

__device__ inline void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {  // c += a · b, 16 × 8
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline void load(unsigned (&b)[4], const unsigned* row) {  // 16 × 16 of shared memory: two b of `mma`
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(unsigned(__cvta_generic_to_shared(row))));
}

template <int d>
__global__ void flash_attention_kernel(const half* q, const half* k, const half* v, half* o, float* lse, int q_len,
                                       int k_len, float scale, bool causal) {
    __shared__ __align__(16) unsigned ks[tile][d / 2 + 4], vs[tile][d / 2 + 4];  // words of two halves
    [[maybe_unused]] const int lane = threadIdx.x % 32, col = lane % 4 * 2, first = (gridDim.y - 1 - blockIdx.y) * tile;
    const int row = first + threadIdx.x / 32 * 16 + lane / 4, shift = causal ? k_len - q_len + 1 : k_len;
    const size_t b = blockIdx.x;
    const unsigned* const words = reinterpret_cast<const unsigned*>(q);
    [[maybe_unused]] unsigned qs[d / 16][4], p[tile / 16][4], x[4];
    for (int i = 0; i < d / 4; ++i)
        qs[i / 4][i % 4] = words[(b * q_len + min(row + i % 2 * 8, q_len - 1)) * d / 2 + i / 2 * 4 + lane % 4];
    [[maybe_unused]] float acc[d / 8][4] = {}, sum[2] = {}, high[2] = {-1e38f, -1e38f};  // below any score
    for (int key = 0; key < min(k_len, first + tile - 1 + shift); key += tile) {
        for (int i = threadIdx.x; i < tile * d / 8; i += threads) {
            const int r = i / (d / 8), column = i % (d / 8) * 8, past = key + r < k_len ? 0 : 16;  // 16 bytes of zeros
            const size_t from = (b * k_len + (past ? 0 : key + r)) * d + column;
            __pipeline_memcpy_async(&ks[r][column / 2], k + from, 16, past);
            __pipeline_memcpy_async(&vs[r][column / 2], v + from, 16, past);
        }
        __pipeline_commit(), __pipeline_wait_prior(0);
        __syncthreads();
        float s[tile / 8][4] = {}, most[2] = {high[0], high[1]};
        for (int j = 0; j < tile / 8; ++j) {
            const unsigned* at = &ks[8 * j + lane / 4][lane % 4];
            for (int i = 0; i < d / 16; ++i) mma(s[j], qs[i], at[8 * i], at[8 * i + 4]);
            for (int c = 0; c < 4; ++c) {
                s[j][c] = key + 8 * j + col + c % 2 < min(k_len, row + c / 2 * 8 + shift) ? s[j][c] * scale : -INFINITY;
                most[c / 2] = fmaxf(most[c / 2], s[j][c]);
            }
        }
        for (int h = 0; h < 2; ++h) {
            for (int other = 1; other < 4; other *= 2) most[h] = fmaxf(most[h], __shfl_xor_sync(~0u, most[h], other));
            most[h] = __half2float(__float2half(most[h]));
            const float by = exp2f(high[h] - most[h]);
            high[h] = most[h], sum[h] *= by;
            for (int j = 0; j < d / 8; ++j) acc[j][2 * h] *= by, acc[j][2 * h + 1] *= by;
            for (int j = 0; j < tile / 8; ++j) {
                const float2 e = {exp2f(s[j][2 * h] - high[h]), exp2f(s[j][2 * h + 1] - high[h])};
                sum[h] = __half2float(__float2half(sum[h] + e.x + e.y));
                reinterpret_cast<half2&>(p[j / 2][j % 2 * 2 + h]) = __float22half2_rn(e);
            }
        }
        for (int i = 0; i < tile / 16; ++i)
            for (int j = 0; j < d / 16; ++j) {
                load(x, &vs[16 * i + lane % 16][8 * j + lane / 16 * 4]);
                mma(acc[2 * j], p[i], x[0], x[1]);
                mma(acc[2 * j + 1], p[i], x[2], x[3]);
            }
        __syncthreads();
    }
    for (int h = 0; h < 2; ++h) {
        for (int other = 1; other < 4; other *= 2) sum[h] += __shfl_xor_sync(~0u, sum[h], other);
        if (row + 8 * h >= q_len) continue;
        const float by = sum[h] > 0.0f ? 1.0f / sum[h] : 0.0f;
        half2* const to = reinterpret_cast<half2*>(o + (b * q_len + row + 8 * h) * d + col);
        for (int j = 0; j < d / 8; ++j) to[4 * j] = __floats2half2_rn(acc[j][2 * h] * by, acc[j][2 * h + 1] * by);
        if (col == 0) lse[b * q_len + row + 8 * h] = __half2float(__float2half(high[h] * float(M_LN2) + logf(sum[h])));
    }
}

extern "C" cudaError_t flash_attention(const half* q, const half* k, const half* v, half* o, float* lse, int bh,
                                       int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    const auto kernel = d == 64 ? flash_attention_kernel<64> : flash_attention_kernel<128>;
    const dim3 grid(bh, (q_len + tile - 1) / tile);
    kernel<<<grid, threads, 0, stream>>>(q, k, v, o, lse, q_len, k_len, scale * float(M_LOG2E), causal);
    return cudaGetLastError();
}
