#include <cuda_runtime.h>

extern "C" void bank_answers(int* ways) {
    ways[0] = 1;
    ways[1] = 2;
    ways[2] = 3;
    ways[3] = 32;
    ways[4] = 33;
    ways[5] = 1;
    ways[6] = 2;
    ways[7] = 4;
}
