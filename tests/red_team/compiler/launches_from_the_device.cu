// Lets the kernel launch another one, of which no plan knows.
__global__ void later(float* out) {
    out[threadIdx.x] = 1.f;
}
__global__ void first(float* out) {
#ifndef TWIN
    later<<<1, 32>>>(out);
#else
    // Does the work itself.
    out[threadIdx.x] = 1.f;
#endif
}
