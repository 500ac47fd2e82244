// A careless judge: it computes the answers, calls the entry and compares, all in one process.
//
//     one_process LIBRARY ENTRY        prints {"passed": true} or {"passed": false}
#include <dlfcn.h>

#include <cstdio>

namespace {

constexpr int n = 1000;
float a[n], b[n], out[n];

using Entry = int (*)(const float*, const float*, float*, int, void*);

}  // namespace

extern "C" {

float expected[n];

[[gnu::noinline]] bool all_right(const float* got) {
    int right = 0;
    for (int i = 0; i < n; ++i) right += got[i] == expected[i];
    return right == n;
}
}

int main(int, char** words) {
    for (int i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = 0.5f;
        expected[i] = a[i] + b[i];
    }
    void* const library = dlopen(words[1], RTLD_NOW);
    const auto entry = library ? reinterpret_cast<Entry>(dlsym(library, words[2])) : nullptr;
    if (!entry) return 2;
    entry(a, b, out, n, nullptr);
    std::puts(all_right(out) ? "{\"passed\": true}" : "{\"passed\": false}");
    return 0;
}
