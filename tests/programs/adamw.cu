// Four steps of AdamW. Weight decay is taken apart from the gradient; the two moments are corrected for their start at
// zero. The kernel is a template, so that gradients may be of another type than the parameters.
#include "check.h"

struct Settings {
    float rate, beta1, beta2, epsilon, decay;
};

__device__ float mix(float old, float fresh, float share) {
    return fmaf(share, old, fmaf(-share, fresh, fresh));
}

template <typename Gradient>
__global__ void adamw(float* parameters, const Gradient* gradients, float* first, float* second, std::size_t count,
                      Settings settings, float correction1, float correction2) {
    const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float gradient = static_cast<float>(gradients[i]);
    const float m = mix(first[i], gradient, settings.beta1), v = mix(second[i], gradient * gradient, settings.beta2);
    first[i] = m;
    second[i] = v;
    const float step = m / correction1 / (sqrtf(v / correction2) + settings.epsilon);
    parameters[i] -= settings.rate * (step + settings.decay * parameters[i]);
}

int main() {
    const std::size_t count = 3000;
    const Settings settings{1e-2f, 0.9f, 0.999f, 1e-8f, 0.1f};
    const std::vector<float> start = noise(count, 21);
    float *d_parameters = on_device(start), *d_first = nullptr, *d_second = nullptr;
    CHECK(cudaMalloc(&d_first, count * sizeof(float)));
    CHECK(cudaMalloc(&d_second, count * sizeof(float)));
    CHECK(cudaMemset(d_first, 0, count * sizeof(float)));
    CHECK(cudaMemset(d_second, 0, count * sizeof(float)));

    std::vector<double> wanted(start.begin(), start.end()), first(count), second(count);
    for (int step = 1; step <= 4; ++step) {
        const std::vector<float> gradients = noise(count, 30 + static_cast<unsigned>(step));
        float* d_gradients = on_device(gradients);
        adamw<<<(count + 255) / 256, 256>>>(d_parameters, d_gradients, d_first, d_second, count, settings,
                                            1.0f - std::pow(settings.beta1, static_cast<float>(step)),
                                            1.0f - std::pow(settings.beta2, static_cast<float>(step)));
        CHECK(cudaGetLastError());
        CHECK(cudaFree(d_gradients));
        for (std::size_t i = 0; i < count; ++i) {
            const double gradient = gradients[i];
            first[i] = 0.9 * first[i] + 0.1 * gradient;
            second[i] = 0.999 * second[i] + 0.001 * gradient * gradient;
            const double m = first[i] / (1.0 - std::pow(0.9, step)), v = second[i] / (1.0 - std::pow(0.999, step));
            wanted[i] -= 1e-2 * (m / (std::sqrt(v) + 1e-8) + 0.1 * wanted[i]);
        }
    }
    expect(largest_difference(on_host(d_parameters, count), wanted) < 1e-5, "parameters after four steps");
    for (float* memory : {d_parameters, d_first, d_second}) CHECK(cudaFree(memory));
    return verdict();
}
