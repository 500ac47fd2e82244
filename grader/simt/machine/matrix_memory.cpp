// Matrices in memory: wmma.load and wmma.store, ldmatrix and stmatrix (PTX ISA 9.1, section 9.7.14).
//
// They are checked and counted as the loads and stores that ptxas makes of them: a tile of 8 rows of 16 bytes at a
// time, four lanes a row.
#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "matrix.hpp"
#include "matrix_operations.hpp"
#include "trace.hpp"

namespace simt {
namespace {

constexpr std::uint32_t kFragmentAlignment = 32, kPitchAlignment = 16;  // bytes; of the first element, of the rows
constexpr std::uint32_t kRowBytes = 16;                                 // of a tile
constexpr int kTileRows = 8;
constexpr std::uint64_t kCostOfMatrix = 64;  // instructions, in what budgets count: its pieces are looked at one by one

// A fragment as it lies in memory: row after row, as many bytes apart as its stride says.
using Image = std::array<std::byte, kMostElements * 4>;

// Which matrix a wmma.load or wmma.store means, and where it lies.
struct Place {
    Addresses base;
    std::uint64_t pitch;  // bytes from one row to the next
    Window window;
};

// What does not depend on the lanes: a fragment in one of the two layouts.
struct Form {
    const Requests& requests;
    const Places& places;
    Fragment fragment;
    std::uint32_t row_bytes;
};

template <Fragment F, bool AlongDepth>
Form form_of() {
    static constexpr Requests requests = requests_of(F, AlongDepth);
    static constexpr Places places = places_of(F, AlongDepth);
    return {requests, places, F, static_cast<std::uint32_t>((AlongDepth ? F.depth : F.lines) * bytes_of(F.number))};
}

Addresses addresses_in(const Warp& warp, const Instruction& instruction, std::uint32_t operand) {
    Addresses all;
    const auto add = static_cast<std::uint64_t>(instruction.immediate);
    if (operand & kNarrowAddress) {
        const auto* from = warp.source<std::uint32_t>(operand);
        for (std::size_t lane = 0; lane < kLanes; ++lane) all[lane] = static_cast<std::uint32_t>(from[lane] + add);
    } else {
        const auto* from = warp.source<std::uint64_t>(operand);
        for (std::size_t lane = 0; lane < kLanes; ++lane) all[lane] = from[lane] + add;
    }
    return all;
}

// Does the matrix begin at a multiple of 32 bytes, and its rows 16 bytes apart or a multiple of that? (Rows of 8 bytes,
// of 8-bit integers, may lie side by side.)
bool is_aligned(Warp& warp, const Instruction& instruction, const Form& form, const Place& place, bool write) {
    const int first = first_lane(warp.mask);
    const auto target = [&](int lane) {
        return resolve(warp, instruction, place.base[static_cast<std::size_t>(lane)], place.window, 1);
    };
    if (place.pitch % std::min(kPitchAlignment, form.row_bytes) != 0) {
        report_access(warp, instruction, first, Fault::misaligned_access, target(first),
                      place.base[static_cast<std::size_t>(first)], static_cast<std::uint32_t>(place.pitch), write,
                      "pitch");
        return false;
    }
    bool aligned = true;
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t address = place.base[static_cast<std::size_t>(lane)];
        if (address % kFragmentAlignment == 0) return;
        aligned = false;
        report_access(warp, instruction, lane, Fault::misaligned_access, target(lane), address, kFragmentAlignment,
                      write, "fragment");
    });
    return aligned;
}

Addresses addresses_of(const Place& place, const Request& request, std::uint32_t size) {
    Addresses all;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        all[lane] = place.base[lane] + request.row[lane] * place.pitch + request.along[lane] * size;
    return all;
}

// ---- counting -------------------------------------------------------------------------------------------------------

void count(Warp& warp, const Instruction& instruction, const Addresses& addresses, LaneMask lanes, std::uint32_t bytes,
           Window window, Traffic traffic) {
    const LaneMask all = warp.mask;
    if (lanes == 0) return;
    warp.set_mask(lanes);
    const Access access = access_at(warp, addresses, bytes);
    const Target target = resolve(warp, instruction, access.start, window, bytes);
    count_access(warp, instruction, access, bytes, target.window, traffic);
    warp.set_mask(all);
}

// The rows of tiles, 16 bytes each, as ldmatrix takes them: 8, 16 or 32 of them a request.
void count_tiles(Warp& warp, const Instruction& instruction, const Place& place, const Form& form) {
    const Requests& requests = form.requests;
    const auto size = static_cast<std::uint32_t>(bytes_of(form.fragment.number));
    const int together = std::min(requests.count, warp.block->launch->program->target >= 80 && size == 2 ? 4 : 2);
    for (int tile = 0; tile < requests.count; tile += together) {
        Addresses rows{};
        for (int i = 0; i < together * kTileRows; ++i) {
            const Request& request = requests.each[static_cast<std::size_t>(tile + i / kTileRows)];
            const auto lane = static_cast<std::size_t>(i % kTileRows * 4);
            rows[static_cast<std::size_t>(i)] =
                place.base[lane] + request.row[lane] * place.pitch + request.along[lane] * size;
        }
        count(warp, instruction, rows, kAllLanes >> (kLanes - together * kTileRows), kRowBytes, Window::shared,
              Traffic::load);
    }
}

// ---- loads ----------------------------------------------------------------------------------------------------------

// Four lanes' pieces side by side; false where they have to be looked at one by one.
bool load_quad(Warp& warp, const Instruction& instruction, int first, std::uint64_t address, Window window,
               std::uint32_t bytes, std::byte* to) {
    const Target target = resolve(warp, instruction, address, window, 4 * bytes);
    if (!target.region || address % bytes != 0) return false;
    const bool inside = target.window == Window::shared
                            ? in_variable(warp, instruction, target.offset, 4 * bytes)
                            : target.region->size >= 4 * bytes && target.offset <= target.region->size - 4 * bytes;
    if (!inside) return false;
    const RangeLock lock(warp, *target.region, target.offset, 4 * bytes);
    check_row(warp, instruction, *target.region, target.offset, 4 * bytes, bytes, first, AccessKind::read, nullptr);
    std::memcpy(to, target.region->data + target.offset, 4 * bytes);
    return true;
}

void load_request(Warp& warp, const Instruction& instruction, const Form& form, const Request& request,
                  const Addresses& addresses, Window window, Image& image) {
    const auto bytes = static_cast<std::uint32_t>(request.bytes);
    const auto size = static_cast<std::uint32_t>(bytes_of(form.fragment.number));
    const auto to = [&](int lane) {
        const auto at = static_cast<std::size_t>(lane);
        return image.data() + request.row[at] * form.row_bytes + request.along[at] * size;
    };
    for (int first = 0; first < kLanes; first += 4) {
        const LaneMask quad = warp.mask & 15u << first;
        const auto at = static_cast<std::size_t>(first);
        const bool together = request.quads && quad == 15u << first && addresses[at + 3] - addresses[at] == 3 * bytes &&
                              addresses[at + 1] + addresses[at + 2] == addresses[at] + addresses[at + 3];
        if (together && load_quad(warp, instruction, first, addresses[at], window, bytes, to(first))) continue;
        for_each_lane(quad, [&](int lane) {
            fetch_piece(warp, instruction, lane, addresses[static_cast<std::size_t>(lane)], window, bytes,
                        AccessKind::read, to(lane));
        });
    }
}

template <class Element, int Parts>
void deliver(Warp& warp, const Places& places, int registers, const std::uint32_t* operands, const Image& image) {
    using Register = std::conditional_t<sizeof(Element) == 8, std::uint64_t, std::uint32_t>;
    const std::uint16_t* place = places.data();
    for (int reg = 0; reg < registers; ++reg) {
        alignas(64) std::array<Register, kLanes> values{};
        for (int part = 0; part < Parts; ++part, place += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                Element element;
                std::memcpy(&element, image.data() + place[lane] * sizeof element, sizeof element);
                values[lane] |= static_cast<Register>(element) << 8 * sizeof element * static_cast<unsigned>(part);
            }
        warp.assign(operands[reg], values.data());
    }
}

void deliver(Warp& warp, const Form& form, const std::uint32_t* operands, const Image& image) {
    const int registers = form.fragment.registers;
    switch (bytes_of(form.fragment.number)) {
        case 1:
            return deliver<std::uint8_t, 4>(warp, form.places, registers, operands, image);
        case 2:
            return deliver<std::uint16_t, 2>(warp, form.places, registers, operands, image);
        case 4:
            return deliver<std::uint32_t, 1>(warp, form.places, registers, operands, image);
        default:
            return deliver<std::uint64_t, 1>(warp, form.places, registers, operands, image);
    }
}

Place place_in(const Warp& warp, const Instruction& instruction, const Form& form, std::uint32_t address,
               std::uint32_t stride, Window window) {
    const auto elements = warp.source<std::uint32_t>(stride)[first_lane(warp.mask)];
    return {addresses_in(warp, instruction, address),
            std::uint64_t{elements} * static_cast<std::uint64_t>(bytes_of(form.fragment.number)), window};
}

void load(Warp& warp, const Instruction& instruction, const Form& form, Window window) {
    warp.instructions += kCostOfMatrix;
    const std::uint32_t* operands = operands_of(warp, instruction);
    const auto registers = static_cast<std::size_t>(form.fragment.registers);
    const Place place = place_in(warp, instruction, form, operands[registers], operands[registers + 1], window);
    Image image{};
    if (is_aligned(warp, instruction, form, place, false)) {
        const bool by_tiles = window == Window::shared && form.requests.by_tiles && warp.mask == kAllLanes;
        if (by_tiles) count_tiles(warp, instruction, place, form);
        for (int i = 0; i < form.requests.count; ++i) {
            const Request& request = form.requests.each[static_cast<std::size_t>(i)];
            const auto bytes = static_cast<std::uint32_t>(request.bytes);
            const Addresses addresses =
                addresses_of(place, request, static_cast<std::uint32_t>(bytes_of(form.fragment.number)));
            const Access access = access_at(warp, addresses, bytes);
            if (!by_tiles) count(warp, instruction, addresses, warp.mask, bytes, window, Traffic::load);
            const Watch watch(warp, instruction, access, window, bytes, false);
            load_request(warp, instruction, form, request, addresses, window, image);
        }
    }
    deliver(warp, form, operands, image);
}

// ---- stores ---------------------------------------------------------------------------------------------------------

template <class Element, int Parts>
void collect(const Warp& warp, const Places& places, int registers, const std::uint32_t* operands, Image& image) {
    using Register = std::conditional_t<sizeof(Element) == 8, std::uint64_t, std::uint32_t>;
    const std::uint16_t* place = places.data();
    for (int reg = 0; reg < registers; ++reg) {
        const Register* from = warp.source<Register>(operands[reg]);
        for (int part = 0; part < Parts; ++part, place += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const auto element =
                    static_cast<Element>(from[lane] >> (8 * sizeof(Element) * static_cast<unsigned>(part)));
                std::memcpy(image.data() + place[lane] * sizeof element, &element, sizeof element);
            }
    }
}

void store(Warp& warp, const Instruction& instruction, const Form& form, Window window) {
    warp.instructions += kCostOfMatrix;
    const std::uint32_t* operands = operands_of(warp, instruction);
    const auto registers = static_cast<std::size_t>(form.fragment.registers);
    const Place place = place_in(warp, instruction, form, operands[0], operands[registers + 1], window);
    if (!is_aligned(warp, instruction, form, place, true)) return;
    Image image{};
    const int size = bytes_of(form.fragment.number);
    if (size == 2)
        collect<std::uint16_t, 2>(warp, form.places, form.fragment.registers, operands + 1, image);
    else if (size == 4)
        collect<std::uint32_t, 1>(warp, form.places, form.fragment.registers, operands + 1, image);
    else
        collect<std::uint64_t, 1>(warp, form.places, form.fragment.registers, operands + 1, image);
    for (int i = 0; i < form.requests.count; ++i) {
        const Request& request = form.requests.each[static_cast<std::size_t>(i)];
        const auto bytes = static_cast<std::uint32_t>(request.bytes);
        const Addresses addresses = addresses_of(place, request, static_cast<std::uint32_t>(size));
        Staging staging;
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            std::memcpy(staging.data() + lane * bytes,
                        image.data() + request.row[lane] * form.row_bytes +
                            request.along[lane] * static_cast<std::uint32_t>(size),
                        bytes);
        const Access access = access_at(warp, addresses, bytes);
        const Watch watch(warp, instruction, access, window, bytes, true);
        store_pieces(warp, instruction, access, window, bytes, staging);
    }
}

// ---- ldmatrix, stmatrix ---------------------------------------------------------------------------------------------

// Lane 8 i + j says where row j of tile i lies; four lanes get the row, or, transposed, all lanes a part of it.
template <int Tiles, bool Transposed, Window W>
void load_rows(Warp& warp, const Instruction& instruction) {
    warp.instructions += kCostOfMatrix;
    const std::uint32_t* operands = operands_of(warp, instruction);
    const Addresses rows = addresses_in(warp, instruction, operands[Tiles]);
    const LaneMask taken = warp.mask & kAllLanes >> (kLanes - Tiles * kTileRows);
    count(warp, instruction, rows, taken, kRowBytes, W, Traffic::load);
    std::array<std::array<std::uint16_t, kTileRows * kTileRows>, Tiles> tiles{};
    for_each_lane(taken, [&](int lane) {
        const std::uint64_t address = rows[static_cast<std::size_t>(lane)];
        const Target target = resolve(warp, instruction, address, W, kRowBytes);
        if (!place_of(warp, instruction, lane, target, address, kRowBytes, false)) return;
        auto* to = reinterpret_cast<std::byte*>(tiles[static_cast<std::size_t>(lane / kTileRows)].data() +
                                                lane % kTileRows * kTileRows);
        const int first = lane % kTileRows * 4;
        if (load_quad(warp, instruction, first, address, W, 4, to)) return;
        for (int i = 0; i < 4; ++i)
            fetch_piece(warp, instruction, first + i, address + 4 * static_cast<std::uint64_t>(i), W, 4,
                        AccessKind::read, to + 4 * i);
    });
    for (std::size_t tile = 0; tile < Tiles; ++tile) {
        alignas(64) std::array<std::uint32_t, kLanes> values;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::size_t row = lane >> 2, column = 2 * (lane & 3);
            const auto& at = tiles[tile];
            values[lane] = Transposed
                               ? at[column * kTileRows + row] | std::uint32_t{at[(column + 1) * kTileRows + row]} << 16
                               : at[row * kTileRows + column] | std::uint32_t{at[row * kTileRows + column + 1]} << 16;
        }
        warp.assign(operands[tile], values.data());
    }
}

template <int Tiles, bool Transposed, Window W>
void store_rows(Warp& warp, const Instruction& instruction) {
    warp.instructions += kCostOfMatrix;
    const std::uint32_t* operands = operands_of(warp, instruction);
    const Addresses rows = addresses_in(warp, instruction, operands[0]);
    Staging staging{};
    for (std::size_t tile = 0; tile < Tiles; ++tile) {
        const auto* from = warp.source<std::uint32_t>(operands[1 + tile]);
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            for (std::size_t part = 0; part < 2; ++part) {
                const std::size_t second = 2 * (lane & 3) + part, first = lane >> 2;
                const std::size_t row = Transposed ? second : first, column = Transposed ? first : second;
                const auto element = static_cast<std::uint16_t>(from[lane] >> 16 * part);
                std::memcpy(staging.data() + (tile * kTileRows + row) * kRowBytes + 2 * column, &element,
                            sizeof element);
            }
    }
    const LaneMask all = warp.mask, taken = all & kAllLanes >> (kLanes - Tiles * kTileRows);
    if (taken == 0) return;
    warp.set_mask(taken);
    const Access access = access_at(warp, rows, kRowBytes);
    {
        const Watch watch(warp, instruction, access, W, kRowBytes, true);
        store_pieces(warp, instruction, access, W, kRowBytes, staging);
    }
    warp.set_mask(all);
}

// ---- names ----------------------------------------------------------------------------------------------------------

template <Fragment F, bool AlongDepth, Window W>
void load_fragment(Warp& warp, const Instruction& instruction) {
    load(warp, instruction, form_of<F, AlongDepth>(), W);
}
template <Fragment F, bool AlongDepth, Window W>
void store_fragment(Warp& warp, const Instruction& instruction) {
    store(warp, instruction, form_of<F, AlongDepth>(), W);
}

template <Fragment F, bool AlongDepth, Window W>
void add_space(OperationTable& table, std::string_view layout, std::string_view shape, std::string_view space) {
    constexpr bool wide = F.number == Number::f64;
    const std::string registers = repeated(wide ? 'W' : 'w', F.registers);
    const std::string_view letter = F.role == Role::a ? "a" : F.role == Role::b ? "b" : "c";
    const std::string_view type = name_of(F.number);
    table.add({"wmma.load.", letter, ".", layout, ".", shape, ".", space, ".", type}, joined({"*", registers, "Ar"}),
              load_fragment<F, AlongDepth, W>);
    if constexpr (F.role == Role::accumulator) {
        const std::string sources = repeated(wide ? 'R' : 'r', F.registers);
        table.add({"wmma.store.d.", layout, ".", shape, ".", space, ".", type}, joined({"*A", sources, "r"}),
                  store_fragment<F, AlongDepth, W>);
    }
}

template <Fragment F, bool AlongDepth>
void add_layout(OperationTable& table, std::string_view layout, std::string_view shape) {
    add_space<F, AlongDepth, Window::global>(table, layout, shape, "global");
    add_space<F, AlongDepth, Window::shared>(table, layout, shape, "shared");
    add_space<F, AlongDepth, Window::generic>(table, layout, shape, "generic");
}

template <Fragment F>
void add_fragment(OperationTable& table, std::string_view shape) {
    // A column of B is a line, so that "row" is across it.
    add_layout<F, F.role != Role::b>(table, "row", shape);
    add_layout<F, F.role == Role::b>(table, "col", shape);
}

// The operands' fragments have so many registers where `A` and `B` say.
template <int M, int N, int K, Number Type, int A, int B>
void add_operands(OperationTable& table, std::string_view shape) {
    add_fragment<Fragment{Role::a, Type, M, K, A}>(table, shape);
    add_fragment<Fragment{Role::b, Type, N, K, B}>(table, shape);
}

template <int M, int N, int A, int B>
void add_shape(OperationTable& table, std::string_view shape) {
    add_operands<M, N, 16, Number::f16, 8, 8>(table, shape);
    add_operands<M, N, 16, Number::bf16, 2 * A, 2 * B>(table, shape);
    add_operands<M, N, 16, Number::s8, A, B>(table, shape);
    add_operands<M, N, 16, Number::u8, A, B>(table, shape);
    add_fragment<Fragment{Role::accumulator, Number::f32, M, N, 8}>(table, shape);
    add_fragment<Fragment{Role::accumulator, Number::f16, M, N, 4}>(table, shape);
    add_fragment<Fragment{Role::accumulator, Number::s32, M, N, 8}>(table, shape);
}

template <int Tiles, bool Transposed, Window W>
void add_rows(OperationTable& table, std::string_view suffix) {
    const std::string_view count = Tiles == 1 ? "x1" : Tiles == 2 ? "x2" : "x4";
    const std::string_view transposed = Transposed ? ".trans" : "";
    table.add({"ldmatrix.", count, transposed, suffix}, joined({"*", repeated('w', Tiles), "A"}),
              load_rows<Tiles, Transposed, W>);
    table.add({"stmatrix.", count, transposed, suffix}, joined({"*A", repeated('r', Tiles)}),
              store_rows<Tiles, Transposed, W>);
}

template <bool Transposed, Window W>
void add_row_forms(OperationTable& table, std::string_view space) {
    add_rows<1, Transposed, W>(table, space);
    add_rows<2, Transposed, W>(table, space);
    add_rows<4, Transposed, W>(table, space);
}

}  // namespace

void add_fragment_operations(OperationTable& table) {
    add_shape<16, 16, 2, 2>(table, "m16n16k16");
    add_shape<32, 8, 4, 1>(table, "m32n8k16");
    add_shape<8, 32, 1, 4>(table, "m8n32k16");
    add_operands<16, 16, 8, Number::tf32, 4, 4>(table, "m16n16k8");
    add_fragment<Fragment{Role::accumulator, Number::f32, 16, 16, 8}>(table, "m16n16k8");
    add_operands<8, 8, 4, Number::f64, 1, 1>(table, "m8n8k4");
    add_fragment<Fragment{Role::accumulator, Number::f64, 8, 8, 2}>(table, "m8n8k4");
    add_row_forms<false, Window::shared>(table, ".shared");
    add_row_forms<true, Window::shared>(table, ".shared");
    add_row_forms<false, Window::generic>(table, ".generic");
    add_row_forms<true, Window::generic>(table, ".generic");
}

}  // namespace simt
