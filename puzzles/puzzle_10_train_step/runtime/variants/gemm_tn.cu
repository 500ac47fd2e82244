// Gemm of contiguous floats, Aᵀ · B: the kernel of 2.8.
#include "../gemm.hpp"

extern "C" cudaError_t gemm_tn(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream);

namespace variant_gemm_tn {

Supported can(const OpCall& call) {
    return as_in_puzzle_2(call, true, false);
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    return call_entry(gemm_tn, call, stream);
}

static Registration registration{{OpKind::Gemm, "gemm_tn", 10, can, launch}};

}  // namespace variant_gemm_tn
