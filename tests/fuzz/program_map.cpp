#include "program_map.hpp"

#include <cstring>

namespace fuzz {
namespace {

struct Ended {};  // thrown where the file does not go on

class Walker {
  public:
    Walker(const Bytes& bytes, ProgramMap& map) : bytes_(bytes), map_(map) {}

    void program() {
        skip(8 + 4 + 4);  // magic, version, target
        list([this] { map_.op_names.push_back(text()); });
        list([this] {
            u32(Kind::plain);
            text();
            u32(Kind::plain);
            text();
        });
        list([this] { variable(); });
        list([this] { function(); });
    }

  private:
    void variable() {
        map_.variables.push_back(text_in(bytes_, text()));
        numbers(Kind::plain, 2);
        u64(Kind::size);
        skip(u32(Kind::count));
        list([this] {
            u64(Kind::immediate);
            u32(Kind::plain);
            u64(Kind::immediate);
        });
    }

    void function() {
        map_.functions.emplace_back();
        map_.functions.back().name = text_in(bytes_, text());
        map_.functions.back().entry = u32(Kind::plain) & 1;
        numbers(Kind::size, 3);
        map_.functions.back().parameter_bytes = u32(Kind::size);
        list([this] { numbers(Kind::plain, 3); });
        u32(Kind::size);
        list([this] {
            text();
            numbers(Kind::size, 3);
        });
        numbers(Kind::size, 4);
        list([this] { u32(Kind::constant32); });
        list([this] { u64(Kind::constant64); });
        list([this] {
            text();
            u32(Kind::slot);
        });
        list([this] {
            numbers(Kind::first, 2);
            u32(Kind::next);
        });
        list([this] { instruction(); });
    }

    void instruction() {
        const std::size_t begin = at_;
        for (const Kind kind : {Kind::op, Kind::site, Kind::guard, Kind::width}) u32(kind);
        list([this] { u32(Kind::operand); });
        u64(Kind::immediate);
        map_.functions.back().instructions.push_back({begin, at_});
    }

    template <class Item>
    void list(Item&& item) {
        for (std::uint32_t left = u32(Kind::count); left > 0; --left) item();
    }

    Extent text() {
        const std::size_t begin = at_;
        skip(u32(Kind::count));
        return {begin, at_};
    }

    void numbers(Kind kind, int count) {
        while (count-- > 0) u32(kind);
    }

    std::uint32_t u32(Kind kind) {
        std::uint32_t value;
        field(kind, &value, sizeof value);
        return value;
    }

    void u64(Kind kind) {
        std::uint64_t value;
        field(kind, &value, sizeof value);
    }

    void field(Kind kind, void* value, std::size_t size) {
        const std::size_t begin = at_;
        skip(size);
        std::memcpy(value, bytes_.data() + begin, size);
        map_.fields[static_cast<std::size_t>(kind)].push_back({begin, size});
    }

    void skip(std::size_t size) {
        if (size > bytes_.size() - at_) throw Ended{};
        at_ += size;
    }

    const Bytes& bytes_;
    ProgramMap& map_;
    std::size_t at_ = 0;
};

}  // namespace

ProgramMap map_program(const Bytes& bytes) {
    ProgramMap map;
    try {
        Walker(bytes, map).program();
    } catch (const Ended&) {
    }
    return map;
}

std::string text_in(const Bytes& bytes, const Extent& extent) {
    return {bytes.data() + extent.begin + sizeof(std::uint32_t), bytes.data() + extent.end};
}

}  // namespace fuzz
