// Gemm of contiguous floats, A · Bᵀ: the kernel of 2.7.
#include "../gemm.hpp"

extern "C" cudaError_t gemm_nt(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream);

namespace variant_gemm_nt {

Supported can(const OpCall& call) {
    return as_in_puzzle_2(call, false, true);
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    return call_entry(gemm_nt, call, stream);
}

static Registration registration{{OpKind::Gemm, "gemm_nt", 10, can, launch}};

}  // namespace variant_gemm_nt
