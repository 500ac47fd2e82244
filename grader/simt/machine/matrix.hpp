// Matrix: how the matrices of wmma, mma and ldmatrix lie in the registers of a warp and in memory.
//
// Every matrix is cut into tiles. A tile of an operand is 8 lines (rows of A, columns of B) of 16 bytes along K (32 for
// f64), one register a lane: lane 4g + t has the t-th quarter of line g. A tile of an accumulator is 8 x 8 elements, of
// which lane 4g + t has two: those of row g in columns 2t and 2t + 1. For mma and ldmatrix that is what the PTX ISA 9.1
// documents (section 9.7.14.5). The fragments of wmma, which it leaves open, were read off the addresses that ptxas
// 13.0.88 makes of wmma.load for sm_75, sm_80 and sm_90, where they are the same.
#pragma once

#include <array>
#include <cstdint>

#include "lanes.hpp"

namespace simt {

enum class Number : std::uint8_t { f16, bf16, tf32, f32, f64, s8, u8, s32 };

constexpr int bytes_of(Number number) {
    switch (number) {
        case Number::s8:
        case Number::u8:
            return 1;
        case Number::f16:
        case Number::bf16:
            return 2;
        case Number::f64:
            return 8;
        default:
            return 4;
    }
}

enum class Role : std::uint8_t { a, b, accumulator };

inline constexpr int kMostRegisters = 8;   // of a fragment
inline constexpr int kMostElements = 512;  // of a fragment: 32 x 16

// A fragment: `lines` rows of A or columns of B by `depth` elements along K; or an accumulator of `lines` rows and
// `depth` columns. `registers` may be twice or four times as many as it takes: the tiles are then there again.
struct Fragment {
    Role role;
    Number number;
    int lines, depth, registers;

    constexpr int parts() const { return number == Number::f64 ? 1 : 4 / bytes_of(number); }  // elements a register
    constexpr int elements() const { return lines * depth; }
    constexpr bool is_operand() const { return role != Role::accumulator; }
    constexpr int tile_depth() const { return is_operand() ? 4 * parts() : 8; }
    constexpr int tiles() const { return lines / 8 * (depth / tile_depth()); }
    constexpr int registers_a_tile() const { return is_operand() ? 1 : 2 / parts(); }
    constexpr int distinct() const { return tiles() * registers_a_tile(); }
    // Of an accumulator of 8 rows by 32 columns, lane 4g + t has two rows of column g: it is made as the transpose of
    // one with 32 rows.
    constexpr bool pairs_run_down() const { return role == Role::accumulator && lines == 8 && depth == 32; }
};

struct Spot {
    int line, depth;
};

// Where the tile with this number begins.
constexpr Spot tile_at(const Fragment& fragment, int tile) {
    const int deep = fragment.depth / fragment.tile_depth(), high = fragment.lines / 8;
    if (!fragment.is_operand()) return {tile % high * 8, tile / high * 8};
    if (fragment.role == Role::b && fragment.lines == 16) return {tile / deep * 8, tile % deep * fragment.tile_depth()};
    if (fragment.lines == 8) return {0, tile * fragment.tile_depth()};
    const int group = tile / (2 * deep), inside = tile % (2 * deep);  // of 16 lines
    return {(group * 2 + inside % 2) * 8, inside / 2 * fragment.tile_depth()};
}

// The element that is part `part` of a lane's register.
constexpr Spot spot_of(const Fragment& fragment, int reg, int lane, int part) {
    const int g = lane >> 2, t = lane & 3;
    const Spot tile = tile_at(fragment, reg / fragment.registers_a_tile() % fragment.tiles());
    if (fragment.is_operand()) return {tile.line + g, tile.depth + t * fragment.parts() + part};
    const int second = 2 * t + (fragment.registers_a_tile() == 1 ? part : reg % 2);
    if (fragment.pairs_run_down()) return {tile.line + second, tile.depth + g};
    return {tile.line + g, tile.depth + second};
}

// Index of each element of each register in a matrix that is stored line by line, or depth by depth.
using Places = std::array<std::uint16_t, kMostRegisters * kLanes * 4>;

constexpr Places places_of(const Fragment& fragment, bool line_by_line) {
    Places places{};
    std::size_t at = 0;
    for (int reg = 0; reg < fragment.registers; ++reg)
        for (int part = 0; part < fragment.parts(); ++part)
            for (int lane = 0; lane < kLanes; ++lane) {
                const Spot spot = spot_of(fragment, reg, lane, part);
                places[at++] = static_cast<std::uint16_t>(line_by_line ? spot.line * fragment.depth + spot.depth
                                                                       : spot.depth * fragment.lines + spot.line);
            }
    return places;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// What one machine instruction of those that ptxas makes of a wmma.load or wmma.store moves: for each lane a piece of
// `bytes`, at element `along` of row `row` of the matrix as it lies in memory.
struct Request {
    int bytes = 0;
    bool quads = true;  // four lanes' pieces lie side by side, and make up 16 bytes or more
    std::array<std::uint8_t, kLanes> row{}, along{};
};

struct Requests {
    int count = 0;
    bool by_tiles = false;  // request i moves tile i, four lanes a row of 16 bytes: ldmatrix can do it too
    std::array<Request, 32> each{};
};

// `along_depth`: elements along the depth (K; the columns of an accumulator) are neighbours in memory.
constexpr Requests requests_of(const Fragment& fragment, bool along_depth) {
    Requests made;
    const int size = bytes_of(fragment.number);
    const auto add = [&made, size](int bytes, auto&& spot) {  // spot(lane): row and element in memory
        Request& request = made.each[static_cast<std::size_t>(made.count++)];
        request.bytes = bytes;
        for (int lane = 0; lane < kLanes; ++lane) {
            const Spot at = spot(lane);
            request.row[static_cast<std::size_t>(lane)] = static_cast<std::uint8_t>(at.line);
            request.along[static_cast<std::size_t>(lane)] = static_cast<std::uint8_t>(at.depth);
            const Spot quad = spot(lane & ~3);
            request.quads &= bytes >= 4 && at.line == quad.line && (at.depth - quad.depth) * size == (lane & 3) * bytes;
        }
    };
    const auto in_memory = [along_depth](Spot at) { return along_depth ? at : Spot{at.depth, at.line}; };
    // Two-byte elements are always moved in pairs that are neighbours in memory, and transposed in registers.
    const bool pairs = size == 2, operand = fragment.is_operand();
    const bool together = operand ? along_depth : along_depth != fragment.pairs_run_down();
    made.by_tiles = operand && (pairs || (along_depth && size == 1));
    for (int tile = 0; tile < fragment.tiles(); ++tile) {
        const Spot begin = in_memory(tile_at(fragment, tile));
        const int first = tile * fragment.registers_a_tile();
        if (pairs)
            add(4, [&](int lane) { return Spot{begin.line + (lane >> 2), begin.depth + 2 * (lane & 3)}; });
        else if (together)
            add(operand ? size * fragment.parts() : 2 * size,
                [&](int lane) { return in_memory(spot_of(fragment, first, lane, 0)); });
        else
            for (int piece = 0; piece < (operand ? fragment.parts() : 2); ++piece)
                add(size, [&](int lane) {
                    return in_memory(spot_of(fragment, operand ? first : first + piece, lane, operand ? piece : 0));
                });
    }
    return made;
}

}  // namespace simt
