// The back end that executes: a program with its own main runs on the software GPU, each piece of work as soon as it is
// put on a stream. All state is behind one lock; exported functions take it first (`Software::lock`). A built object
// that is called as a function on tensors has one of its own (tensors.cpp).
#pragma once

#include <algorithm>
#include <istream>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "../line.hpp"
#include "../runtime.hpp"
#include "handles.hpp"
#include "machine.hpp"
#include "memory_map.hpp"

namespace grader {

// Why a call cannot be: a word that the parent has a sentence for, and what it is about.
struct Why {
    const char* word = "";
    const Allocation* allocation = nullptr;
    std::uint64_t bytes = 0;  // asked for, or past the end
};

class Software final : public Backend {
  public:
    Software();
    static Software& get();
    // This thread's from now on; null: the process's own again.
    static void use(Software* software);
    using Lock = std::unique_lock<std::recursive_mutex>;
    Lock lock() { return Lock(mutex_); }

    // `request` is what grader/program/run.py wrote, or grader/op/library.py.
    bool start(std::istream& request);
    // As if nothing had gone wrong yet: what a call has broken is over with it.
    void forgive();

    // ---- Backend
    Place here() override;
    cudaError_t enter(const char* function, cudaStream_t stream, const Place* place) override;
    cudaError_t wait(const char* function) override;
    cudaStreamCaptureStatus capture_status(cudaStream_t stream) override;
    cudaError_t launch(const Launch& launch) override;
    cudaError_t fill(void* destination, int value, std::size_t bytes) override;
    cudaError_t copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) override;
    cudaError_t copy_to_symbol(const Variable& symbol, std::size_t offset, const void* source, std::size_t bytes,
                               cudaMemcpyKind kind) override;
    cudaError_t allocate(void** address, std::size_t bytes) override;
    cudaError_t release(void* address) override;
    void refused(const Launch& launch, cudaError_t error) override;
    void failed(const char* function, cudaError_t error, const Place* place) override;
    void unsupported(const char* function) override;
    void looked(cudaError_t error) override;
    void* place_managed(const Variable& variable) override;

    // ---- for the functions of this back end
    // First thing in any function. A kernel that broke the device has broken all that comes later.
    cudaError_t begin(const char* function);
    // The same for one that no capture allows while it is under way.
    cudaError_t begin_blocking(const char* function);
    // The same for one that waits for the device, and so hears of what went wrong there.
    cudaError_t begin_waiting(const char* function);
    // The same, while other streams may be captured.
    cudaError_t wait_for_device(const char* function);
    // The error, noted with its reason, and the program's last error from now on.
    cudaError_t fail(cudaError_t error, const Why& why);
    cudaError_t fail(cudaError_t error) { return fail(error, Why{}); }

    // What cudaMalloc and its kin do once they may; `free` takes memory of two kinds.
    cudaError_t make(MemoryKind kind, std::size_t bytes, unsigned flags, void** address);
    cudaError_t free(void* address, MemoryKind kind, MemoryKind other);
    void note_allocation(const Allocation& allocation);
    // An address of the module's variable; 0 where it has none of this name.
    std::uintptr_t address_of(const Variable& variable);
    // Judged, and then done, or added to the graph that the stream of this thread's last `enter` is captured into.
    cudaError_t submit(decltype(Work::what) what, const Place* place = nullptr);
    cudaError_t judge_work(const decltype(Work::what)& what, Why* why) const;
    cudaError_t perform(const Work& work);

    // A graph's work, done now, in an order that its edges allow.
    cudaError_t run(const CUgraphExec_st& graph);

    // Null for what is no stream; the default streams have objects too.
    CUstream_st* stream(cudaStream_t handle);
    static CUstream_st* current_stream() { return current_stream_; }
    CUstream_st* make_stream(unsigned flags, int priority);
    void remove_stream(CUstream_st* stream);
    template <typename Handle>
    bool knows(Handle handle) const {
        return handles_.count(handle) != 0;
    }
    // Graphs that the program holds, by handle; null for what is none.
    std::shared_ptr<CUgraph_st> graph(cudaGraph_t handle) const;
    cudaGraph_t keep_graph(std::shared_ptr<CUgraph_st> graph);
    void drop_graph(cudaGraph_t handle) { graphs_.erase(handle); }
    void keep(const void* handle) { handles_.insert(handle); }
    void forget(const void* handle) { handles_.erase(handle); }
    // A stream's work goes into a graph from now on.
    void begin_capture(CUstream_st* stream, cudaStreamCaptureMode mode, std::shared_ptr<CUgraph_st> graph);
    // No stream belongs to it any more.
    void end_capture(const Capture& capture);
    std::vector<CUstream_st*> streams_of(const Capture& capture);

    MemoryMap& memory() { return memory_; }
    void forbid_calls(bool forbidden) { in_host_function_ = forbidden; }
    static cudaStreamCaptureMode& thread_mode();

  private:
    bool capture_forbids(const Capture& capture) const;
    cudaError_t perform_launch(const Work& work, const KernelWork& kernel);
    cudaError_t perform_copy(const Work& work, const CopyWork& copy);
    cudaError_t perform_fill(const FillWork& fill);
    bool move(std::byte* to, std::byte* from, std::size_t bytes);
    unsigned long long next_id() { return ++ids_; }
    void fault(const Report& report);
    void note(const Work& work, const Report& report);
    void note_unwritten(const Work& work, const CopyWork& copy);
    void note_release(const Allocation& allocation);
    bool read(std::istream& input, std::vector<Kernel>* kernels, Device* device);

    std::recursive_mutex mutex_;
    Machine machine_;
    MemoryMap memory_;
    std::set<const void*> handles_;  // of events, instantiated graphs and pools
    std::map<cudaGraph_t, std::shared_ptr<CUgraph_st>> graphs_;
    CUstream_st legacy_, per_thread_;
    std::set<CUstream_st*> streams_;  // the program's own
    unsigned long long ids_ = 2;
    cudaError_t fault_ = cudaSuccess;  // of a kernel; nobody has waited for it yet
    bool poisoned_ = false;            // now somebody has
    std::string machine_path_, program_path_;
    unsigned workers_ = 1;
    std::size_t reports_ = 0;
    std::set<std::uint32_t> fetched_;  // allocations of which something was copied to the host

    static thread_local CUstream_st* current_stream_;
    static thread_local const char* current_function_;
    static thread_local bool in_host_function_;
    static thread_local Software* used_;
};

// A launch whose arguments are copied.
KernelWork kernel_work(const Launch& launch);
// `bytes` bytes, one after the other.
CopyWork line_copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind);

// What cudaMemcpy3D is asked; arrays are none of it.
CopyWork slices_copy(const cudaMemcpy3DParms& copy);

// Writes to the file that the parent reads when the program has ended.
void write_log(const char* bytes, std::size_t count);
void open_log(const std::string& path);

}  // namespace grader
