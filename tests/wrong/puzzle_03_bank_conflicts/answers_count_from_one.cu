#include <cuda_runtime.h>

extern "C" void bank_answers(int* ways) {
    ways[1] = 1;
    ways[2] = 2;
    ways[3] = 1;
    ways[4] = 32;
    ways[5] = 1;
    ways[6] = 1;
    ways[7] = 2;
    ways[8] = 4;
}
