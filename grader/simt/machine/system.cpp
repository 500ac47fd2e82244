// System functions that kernels call: vprintf and __assertfail. (malloc and free stay unsupported.)
//
// Their arguments lie in the block that st.argument filled: see docs/program-format.md and the CUDA programming guide,
// "Formatted output", for what printf promises.
#include <cstdio>
#include <span>

#include "frame.hpp"
#include "launch.hpp"
#include "operations.hpp"

namespace simt {
namespace {

constexpr std::size_t kMostText = 4096;         // of one string
constexpr std::size_t kMostPrinted = 64 << 10;  // of one worker in a launch

// Bytes that a lane can reach at a generic address; empty where there are none.
std::span<const std::byte> reachable(Warp& warp, int lane, std::uint64_t address) {
    const std::uint64_t high = address & ~(kWindowBytes - 1);
    std::span<const std::byte> all;
    if (high == kLocalWindow) {
        all = warp.local[static_cast<std::size_t>(lane)].bytes;
        address -= high;
    } else if (high == kSharedWindow) {
        all = warp.block->shared_memory;
        address -= high;
    } else if (const Region* region = warp.block->launch->device->memory().nearest(address)) {
        all = {region->data, region->size};
        address -= region->base;
    }
    return address < all.size() ? all.subspan(address) : std::span<const std::byte>{};
}

std::string text_at(Warp& warp, int lane, std::uint64_t address) {
    std::string text;
    for (const std::byte byte : reachable(warp, lane, address)) {
        if (byte == std::byte{0} || text.size() == kMostText) break;
        text += static_cast<char>(byte);
    }
    return text;
}

template <class T>
T argument(const Warp& warp, int lane, std::size_t offset) {
    T value{};
    const std::size_t bytes = warp.frame->function->argument_bytes;
    if (offset + sizeof value <= bytes)
        std::memcpy(&value, warp.frame->arguments.data() + static_cast<std::size_t>(lane) * bytes + offset,
                    sizeof value);
    return value;
}

// The values after the format: ints and pointers at their size, floats as doubles, each at a multiple of its size.
class Values {
  public:
    explicit Values(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    T next() {
        at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        T value{};
        if (at_ + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

  private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

// One conversion, as the host's printf does it: the specification is rebuilt from known characters, so that nothing a
// kernel writes there can mean anything else.
class Conversion {
  public:
    // Reads a specification that starts behind '%'; moves `at` behind it.
    Conversion(const std::string& format, std::size_t& at) {
        const auto take_while = [&](std::string_view allowed) {
            while (at < format.size() && spec_.size() < 24 && allowed.find(format[at]) != std::string_view::npos)
                spec_ += format[at++];
        };
        const auto take_number = [&] {  // no longer than anything that is shown
            const std::size_t from = spec_.size();
            take_while("0123456789");
            if (spec_.size() - from > 3) spec_.replace(from, std::string::npos, "999");
        };
        take_while("-+ #0");
        take_number();
        take_while(".");
        take_number();
        while (at < format.size() &&
               (format[at] == 'h' || format[at] == 'l' || format[at] == 'z' || format[at] == 'j')) {
            wide_ |= format[at] != 'h';
            ++at;
        }
        kind_ = at < format.size() ? format[at++] : '%';
    }

    std::string print(Warp& warp, int lane, Values& values) const {
        switch (kind_) {
            case 'd':
            case 'i':
                return wide_ ? formatted("lld", values.next<long long>()) : formatted("d", values.next<int>());
            case 'u':
            case 'o':
            case 'x':
            case 'X': {
                const std::string kind(1, kind_);
                return wide_ ? formatted("ll" + kind, values.next<unsigned long long>())
                             : formatted(kind, values.next<unsigned>());
            }
            case 'c':
                return formatted("c", values.next<int>());
            case 'p':
                return formatted("p", reinterpret_cast<void*>(values.next<std::uint64_t>()));
            case 's':
                return formatted("s", text_at(warp, lane, values.next<std::uint64_t>()).c_str());
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
            case 'a':
            case 'A':
                return formatted(std::string(1, kind_), values.next<double>());
            default:
                return kind_ == '%' ? "%" : "%" + spec_ + kind_;
        }
    }

  private:
    template <class T>
    std::string formatted(const std::string& kind, T value) const {
        const std::string format = "%" + spec_ + kind;
        char text[kMostText];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        const int length = std::snprintf(text, sizeof text, format.c_str(), value);
#pragma GCC diagnostic pop
        return length < 0 ? std::string()
                          : std::string(text, std::min<std::size_t>(static_cast<std::size_t>(length), sizeof text - 1));
    }

    std::string spec_;
    bool wide_ = false;
    char kind_ = '%';
};

std::string printed(Warp& warp, int lane) {
    const std::string format = text_at(warp, lane, argument<std::uint64_t>(warp, lane, 0));
    Values values(reachable(warp, lane, argument<std::uint64_t>(warp, lane, 8)));
    std::string text;
    for (std::size_t at = 0; at < format.size() && text.size() < kMostText;) {
        if (format[at] != '%') {
            text += format[at++];
            continue;
        }
        const Conversion conversion(format, ++at);
        text += conversion.print(warp, lane, values);
    }
    return text;
}

void print(Warp& warp, const Instruction&) {
    Worker& worker = *warp.worker;
    for_each_lane(warp.mask, [&](int lane) {
        if (worker.printed_bytes >= kMostPrinted) return;
        std::string text = printed(warp, lane);
        worker.printed_bytes += text.size() + sizeof(worker.printed[0]);
        worker.printed.emplace_back(warp.block->linear, std::move(text));
        const std::int32_t done = 1;
        if (warp.frame->function->returned_bytes >= sizeof done)
            std::memcpy(
                warp.frame->returned.data() + static_cast<std::size_t>(lane) * warp.frame->function->returned_bytes,
                &done, sizeof done);
    });
}

void fail_assertion(Warp& warp, const Instruction& instruction) {
    for_each_lane(warp.mask, [&](int lane) {
        Finding finding;
        finding.fault = Fault::device_trap;
        finding.text = "assert:" + text_at(warp, lane, argument<std::uint64_t>(warp, lane, 0));
        report(warp, instruction, lane, std::move(finding));
    });
    throw Stopped{};
}

}  // namespace

void add_system_operations(OperationTable& table) {
    table.add("call.vprintf", "", print);
    table.add("call.__assertfail", "", fail_assertion);
}

}  // namespace simt
