// One line of the recorder's protocol: a JSON object, written out as it grows.
//
// Allocates nothing and keeps a few kilobytes, so that a signal handler can use it, and a payload of any size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace grader {

using Emit = void (*)(const char* bytes, std::size_t count);

class Line {
  public:
    Line(Emit emit, std::string_view kind) : emit_(emit) {
        put('{');
        text("kind", kind);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void text(std::string_view key, std::string_view value) {
        name(key);
        put('"');
        for (const char c : value) character(c);
        put('"');
    }

    void number(std::string_view key, std::uint64_t value) {
        name(key);
        digits(value);
    }

    void integer(std::string_view key, std::int64_t value) {
        name(key);
        if (value < 0) put('-');
        digits(value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
    }

    void flag(std::string_view key, bool value) {
        name(key);
        for (const char c : std::string_view(value ? "true" : "false")) put(c);
    }

    // `value` is JSON already.
    void json(std::string_view key, std::string_view value) {
        name(key);
        for (const char c : value) put(c);
    }

    template <typename Number>
    void numbers(std::string_view key, const Number* values, std::size_t count) {
        name(key);
        put('[');
        for (std::size_t i = 0; i < count; ++i) {
            if (i) put(',');
            digits(values[i]);
        }
        put(']');
    }

    void base64(std::string_view key, const void* payload, std::size_t count) {
        name(key);
        put('"');
        const auto* bytes = static_cast<const unsigned char*>(payload);
        for (std::size_t i = 0; i < count; i += 3) sextets(bytes + i, std::min<std::size_t>(3, count - i));
        put('"');
    }

    void end() {
        put('}');
        put('\n');
        flush();
    }

  private:
    void name(std::string_view key) {
        if (!first_) put(',');
        first_ = false;
        put('"');
        for (const char c : key) put(c);
        put('"');
        put(':');
    }

    // Text is for people: what is not plain ASCII becomes a question mark.
    void character(char c) {
        if (c == '"' || c == '\\') put('\\');
        put(c >= 0x20 && c < 0x7f ? c : '?');
    }

    void digits(std::uint64_t value) {
        std::array<char, 20> reversed;
        std::size_t count = 0;
        do {
            reversed[count++] = static_cast<char>('0' + value % 10);
        } while (value /= 10);
        while (count) put(reversed[--count]);
    }

    void sextets(const unsigned char* bytes, std::size_t count) {
        constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        unsigned word = 0;
        for (std::size_t i = 0; i < 3; ++i) word = word << 8 | (i < count ? bytes[i] : 0u);
        for (std::size_t i = 0; i < 4; ++i) put(i <= count ? alphabet[word >> (18 - 6 * i) & 63] : '=');
    }

    void put(char c) {
        buffer_[used_++] = c;
        if (used_ == buffer_.size()) flush();
    }

    void flush() {
        emit_(buffer_.data(), used_);
        used_ = 0;
    }

    Emit emit_;
    std::array<char, 4096> buffer_;
    std::size_t used_ = 0;
    bool first_ = true;
};

}  // namespace grader
