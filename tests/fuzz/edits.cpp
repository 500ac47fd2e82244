#include "edits.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fuzz {
namespace {

constexpr std::size_t kHeader = 12;  // magic and version: a wrong one is refused before anything else is read

std::uint64_t value_at(const Bytes& bytes, const Field& field) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + field.at, field.bytes);
    return value;
}

void put(Bytes& bytes, const Field& field, std::uint64_t value) {
    std::memcpy(bytes.data() + field.at, &value, field.bytes);
}

void replace(Bytes& bytes, const Extent& extent, const Bytes& with) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(extent.begin);
    const auto at = bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(extent.end - extent.begin));
    bytes.insert(at, with.begin(), with.end());
}

void change_byte(Bytes& bytes, Random& random) {
    if (bytes.size() <= kHeader) return;
    char& byte = bytes[kHeader + random.below(bytes.size() - kHeader)];
    byte = static_cast<char>(random.one_in(2) ? byte ^ 1 << random.below(8) : random.of({0, 1, 2, 127, 128, 255}));
}

void change_size(Bytes& bytes, Random& random) {
    if (bytes.size() <= kHeader) return;
    const std::size_t at = kHeader + random.below(bytes.size() - kHeader), count = 1 + random.below(16);
    switch (random.below(3)) {
        case 0:
            bytes.resize(at);
            break;
        case 1:
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, static_cast<char>(random.next()));
            break;
        default:
            replace(bytes, {at, std::min(bytes.size(), at + count)}, {});
    }
}

// All kinds are as likely, however many fields of each there are; null where the file has none of the kind.
const std::vector<Field>* some_kind(const ProgramMap& map, Kind& kind, Random& random) {
    kind = static_cast<Kind>(random.below(kKinds));
    return map.of(kind).empty() ? nullptr : &map.of(kind);
}

// A field gets the value of another one of its kind, which often fits.
void take_alike(Bytes& bytes, const ProgramMap& map, Random& random) {
    Kind kind;
    if (const auto* fields = some_kind(map, kind, random))
        put(bytes, random.of(*fields), value_at(bytes, random.of(*fields)));
}

std::uint64_t wild(Kind kind, std::uint64_t value, Random& random) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (random.one_in(3)) return value + random.of<std::uint64_t>({1, 2, ~0ull, 4, 8, 16, 4096});
    switch (kind) {
        case Kind::count:
        case Kind::size:
            return random.of<std::uint64_t>({0, 1, 3, 8, 16, 4095, 4097, 1 << 15, 1 << 19, 1 << 20, 1 << 22, 1 << 24,
                                             (1 << 22) + 1, 0x7fffffff, 0x80000000, 0xffffffff});
        case Kind::operand:
            return random.below(9) << 28 | random.of<std::uint64_t>({0, 1, 2, 31, value & 0x0fffffff, 0x0fffffff});
        case Kind::guard:
            return random.of<std::uint64_t>({0, 1, 2, 3, 7, 0xffffffff});
        case Kind::next:
            return random.of<std::uint64_t>({0, 1, 2, 0xffffffff, 0xfffffffe});
        case Kind::width:
            return random.of<std::uint64_t>({0, 1, 2, 4, 8, 16, 32, 0xffffffff});
        case Kind::immediate:
        case Kind::constant64:
            return random.of<std::uint64_t>({0, 1, ~0ull, most, most + 1, 0x80000000, 0xffffffff, 4094, 1ull << 40,
                                             0x0100'0000'0000'0000 + 4094, 0x0200'0000'0000'0000, random.any()});
        default:
            return random.any();
    }
}

void take_wild(Bytes& bytes, const ProgramMap& map, Random& random) {
    Kind kind;
    if (const auto* fields = some_kind(map, kind, random)) {
        const Field& field = random.of(*fields);
        put(bytes, field, wild(kind, value_at(bytes, field), random));
    }
}

// An instruction stands in another one's place.
void copy_instruction(Bytes& bytes, const ProgramMap& map, Random& random) {
    if (map.functions.empty()) return;
    const auto& instructions = random.of(map.functions).instructions;
    if (instructions.empty()) return;
    const Extent from = random.of(instructions), to = random.of(instructions);
    replace(bytes, to,
            {bytes.begin() + static_cast<std::ptrdiff_t>(from.begin),
             bytes.begin() + static_cast<std::ptrdiff_t>(from.end)});
}

// What is called so from now on is another operation, in the best case one that takes the same operands.
void rename_operation(Bytes& bytes, const ProgramMap& map, const std::vector<std::string>& names, Random& random) {
    if (map.op_names.empty() || names.empty()) return;
    const Extent extent = random.of(map.op_names);
    std::string name = random.of(names);
    const std::string old = text_in(bytes, extent);
    if (const std::size_t dot = old.find('.'); dot != std::string::npos && random.one_in(2)) {
        std::vector<std::string> alike;
        for (const std::string& other : names)
            if (other.starts_with(old.substr(0, dot + 1))) alike.push_back(other);
        if (!alike.empty()) name = random.of(alike);
    }
    const auto length = static_cast<std::uint32_t>(name.size());
    Bytes text(sizeof length);
    std::memcpy(text.data(), &length, sizeof length);
    text.insert(text.end(), name.begin(), name.end());
    replace(bytes, extent, text);
}

}  // namespace

void edit(Bytes& bytes, const std::vector<std::string>& names, Random& random) {
    const ProgramMap map = map_program(bytes);
    switch (random.below(12)) {
        case 0:
            return change_byte(bytes, random);
        case 1:
            return change_size(bytes, random);
        case 2:
        case 3:
        case 4:
        case 5:
            return take_alike(bytes, map, random);
        case 6:
        case 7:
            return take_wild(bytes, map, random);
        case 8:
        case 9:
            return copy_instruction(bytes, map, random);
        default:
            return rename_operation(bytes, map, names, random);
    }
}

}  // namespace fuzz
