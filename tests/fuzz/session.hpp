// Session: one device with a program on it, and random steps: buffers come and go, kernels are launched, questions
// asked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine_api.hpp"
#include "program_map.hpp"
#include "random.hpp"

namespace fuzz {

// Prints what is wrong and ends the process as a crash does.
[[noreturn]] void fail(const std::string& what);

// Bytes of this process that lie in memory.
std::uint64_t resident_bytes();

class Session {
  public:
    // Loads the program, or finds that the machine refuses it.
    explicit Session(const Bytes& program);

    bool loaded() const { return device_ != nullptr; }
    // Step `number` of a case; the first ones make buffers.
    void step(std::uint64_t number, Random& random);
    // Thousands of launches that are alike: they must not take more and more memory.
    void launch_often(Random& random);

  private:
    struct Buffer {
        std::string name;
        std::uint64_t address, bytes;
        std::unique_ptr<std::byte[]> memory;  // null where the machine holds it
    };

    void add_buffer(Random& random);
    void add_sparse(Random& random);
    void allocate_or_free(Random& random);
    void work_on_memory(Random& random);
    void ask(Random& random);
    void launch(Random& random);
    void do_launch(const FunctionMap& kernel, Random& random);

    std::uint64_t free_place(Random& random);
    std::uint64_t address_near(Random& random);
    std::string buffer_name(Random& random);
    std::vector<std::byte> parameters_for(const FunctionMap& kernel, Random& random);
    // Of a call that gives 0 where all went well; that it may refuse is part of the test, but it has to say why.
    bool done(int failed) const;
    void check_answer(const char* text) const;
    void check_sentence() const;

    struct Destroy {
        void operator()(simt_device* device) const { simt_device_destroy(device); }
    };
    ProgramMap map_;
    std::uint64_t budget_ = 50'000;  // warp instructions of a launch
    std::vector<Buffer> buffers_;
    std::unique_ptr<simt_device, Destroy> device_;  // gone before the buffers are
};

}  // namespace fuzz
