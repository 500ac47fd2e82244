// Damaged programs on the machine, case by case. A case is known by a seed and a number, and always the same:
//
//     fuzz run CORPUS SEED FIRST COUNT SECONDS      cases until COUNT are done or SECONDS are over; says which one
//     begins fuzz write CORPUS SEED NUMBER EDITS FILE      the program of a case, with those of its edits that the mask
//     names fuzz repeat FILE SEED NUMBER STEPS            that program, with those of the case's steps that the mask
//     names
//
// The process ends badly where the machine does: built with sanitizers, that is at the first fault (tests/fuzz/run.py).
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "edits.hpp"
#include "session.hpp"

namespace {

using namespace fuzz;
using Mask = std::uint64_t;

constexpr std::uint64_t kMostEdits = 8, kMostSteps = 12;
constexpr int kProcessorSeconds = 20;  // of a case, all threads together; thousands of launches may take ten times that
constexpr unsigned kSeconds = 300;     // for one that waits without working
constexpr std::uint64_t kOftenEvery = 256;  // cases
constexpr std::uint64_t kMostGrowth = 128 << 20;

enum Stream : std::uint64_t { whole, of_edit, of_step };

struct Corpus {
    std::vector<Bytes> programs;
    std::vector<std::string> names;
};

Bytes whole_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

Corpus read_corpus(const std::filesystem::path& directory) {
    std::set<std::filesystem::path> paths;  // in an order that does not change
    for (const auto& entry : std::filesystem::directory_iterator(directory)) paths.insert(entry.path());
    Corpus corpus;
    std::set<std::string> names;
    for (const auto& path : paths) {
        const Bytes& program = corpus.programs.emplace_back(whole_file(path));
        for (const Extent& extent : map_program(program).op_names) names.insert(text_in(program, extent));
    }
    if (corpus.programs.empty()) fail("there is no program in " + directory.string());
    corpus.names.assign(names.begin(), names.end());
    return corpus;
}

Bytes program_of(const Corpus& corpus, std::uint64_t seed, std::uint64_t number, Mask edits) {
    Random random{seed, number, whole};
    Bytes program = random.of(corpus.programs);
    const std::uint64_t count = random.one_in(8) ? 0 : 1 + random.below(random.one_in(4) ? kMostEdits : 3);
    for (std::uint64_t i = 0; i < count; ++i) {
        Random own{seed, number, of_edit, i};
        if (edits >> i & 1) edit(program, corpus.names, own);
    }
    return program;
}

// Ends the process where what follows takes longer.
void limit_time(int processor_seconds) {
    const itimerval limit{{}, {processor_seconds, 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    ::alarm(processor_seconds == 0 ? 0 : kSeconds);
}

void run_case(const Bytes& program, std::uint64_t seed, std::uint64_t number, Mask steps) {
    limit_time(kProcessorSeconds);
    Session session(program);
    for (std::uint64_t i = 0; session.loaded() && i < kMostSteps; ++i) {
        Random own{seed, number, of_step, i};
        if (steps >> i & 1) session.step(i, own);
    }
    if (session.loaded() && number % kOftenEvery == 0 && steps >> kMostSteps & 1) {
        Random own{seed, number, of_step, kMostSteps};
        limit_time(10 * kProcessorSeconds);
        session.launch_often(own);
    }
    limit_time(0);
}

void run(const Corpus& corpus, std::uint64_t seed, std::uint64_t first, std::uint64_t count, std::uint64_t seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    std::uint64_t settled = 0, number = first;
    for (; number < first + count && std::chrono::steady_clock::now() < end; ++number) {
        std::printf("case %lu\n", number);
        std::fflush(stdout);
        run_case(program_of(corpus, seed, number, ~0ull), seed, number, ~0ull);
        if (number == first + count / 4) settled = resident_bytes();
    }
    if (settled != 0 && resident_bytes() > settled + kMostGrowth)
        fail("the process has grown by " + std::to_string((resident_bytes() - settled) >> 20) + " MiB");
    std::printf("next %lu\n", number);
}

std::uint64_t number_in(const char* text) {
    return std::strtoull(text, nullptr, 0);
}

}  // namespace

int main(int count, char** words) {
    const std::string verb = count > 1 ? words[1] : "";
    if (verb == "run" && count == 7) {
        run(read_corpus(words[2]), number_in(words[3]), number_in(words[4]), number_in(words[5]), number_in(words[6]));
    } else if (verb == "write" && count == 7) {
        const Bytes program =
            program_of(read_corpus(words[2]), number_in(words[3]), number_in(words[4]), number_in(words[5]));
        std::ofstream(words[6], std::ios::binary).write(program.data(), static_cast<std::streamsize>(program.size()));
    } else if (verb == "repeat" && count == 6) {
        run_case(whole_file(words[2]), number_in(words[3]), number_in(words[4]), number_in(words[5]));
    } else {
        std::fputs("usage: see tests/fuzz/main.cpp\n", stderr);
        return 2;
    }
}
