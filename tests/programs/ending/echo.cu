// Standard input to standard output, by a kernel that prints.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void say(int number) {
    printf("from the kernel: %d\n", number);
}

int main() {
    int number = 0;
    while (std::scanf("%d", &number) == 1) {
        std::printf("from the host: %d\n", number);
        say<<<1, 1>>>(number);
    }
    return cudaDeviceSynchronize() == cudaSuccess ? number % 256 : 1;
}
