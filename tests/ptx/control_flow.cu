// Every way of leaving a straight line.
#include <cuda_runtime.h>

__global__ void if_else(const int* x, int* y, int n) {
    int i = threadIdx.x, v;
    if (x[i] > n) {
        v = x[i] * 3;
        y[i + 1] = v;
    } else {
        v = x[i] - 7;
        y[i + 2] = v;
    }
    y[i] = v;
}

__global__ void short_circuit(const int* x, int* y, int n) {
    int i = threadIdx.x;
    if (i < n && x[i] > 3 || y[i] == 2) y[i + 1] = x[2];
    y[i] = 1;
}

__global__ void nested_loops(const int* x, int* y, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        if (x[i] == 1) continue;
        for (int j = 0; j < x[i]; ++j) {
            if (y[j] == 9) break;
            if (y[j] == 8) {
                y[0] = sum;
                return;
            }
            sum += y[j];
        }
        if (sum > 1000) break;
        y[i] = sum;
    }
    y[n] = sum;
}

__global__ void do_while(const float* x, float* y, int n) {
    int i = threadIdx.x;
    float sum = 0;
    do {
        sum += x[i];
        i += blockDim.x;
    } while (i < n);
    y[threadIdx.x] = sum;
}

__global__ void jumps(const int* x, int* y, int n) {
    int i = 0;
again:
    if (i >= n) goto done;
    if (x[i] == 0) goto skip;
    y[i] = x[i];
skip:
    ++i;
    goto again;
done:
    y[n] = i;
}

__global__ void dense_switch(int* y, const int* x) {
    int t = threadIdx.x, r = 0;
    switch (y[t] & 15) {
        case 0:
            r = x[0] * 3;
            break;
        case 1:
            r = x[1] + 7;
            y[0] = 1;
            break;
        case 2:
            r = x[2] / 3;
            break;
        case 3:
            r = x[3] << 2;  // falls through
        case 4:
            r -= x[5];
            y[1] = 3;
            break;
        case 5:
            r = abs(x[5]);
            break;
        case 6:
            r = x[6] * x[6];
            y[2] = 3;
            break;
        case 7:
            r = x[7] * x[9];
            break;
        case 9:
            y[5] = 4;
            r = x[9];
            break;
        case 11:
            r = x[11] * 2;
            break;
        case 13:
            y[8] = 1;
            return;
        default:
            r = x[15];
    }
    y[t] = r;
}

__global__ void spin(volatile int* flag) {
    while (*flag == 0) {
    }
    flag[1] = 1;
}

__global__ void endless() {
    while (true) {
    }
}

__global__ void nothing() {}
