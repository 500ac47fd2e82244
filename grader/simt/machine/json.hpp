// Json: writes the machine's reports. Only what they need: objects, arrays, strings, integers, booleans, null.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace simt {

class Json {
  public:
    Json& open(char bracket) {  // '{' or '['
        separate();
        text_ += bracket;
        fresh_ = true;
        return *this;
    }
    Json& close(char bracket) {
        text_ += bracket;
        fresh_ = false;
        return *this;
    }
    Json& key(std::string_view name) {
        value(name);
        text_ += ':';
        fresh_ = true;
        return *this;
    }
    Json& value(std::string_view text) {
        separate();
        text_ += '"';
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\')
                (text_ += '\\') += c;
            else if (byte < 0x20 || byte >= 0x7f)
                escape(byte);
            else
                text_ += c;
        }
        text_ += '"';
        return *this;
    }
    Json& value(const char* text) { return value(std::string_view(text)); }
    Json& value(const std::string& text) { return value(std::string_view(text)); }
    Json& value(bool truth) { return raw(truth ? "true" : "false"); }
    Json& value(std::integral auto number) { return raw(std::to_string(number)); }
    Json& null() { return raw("null"); }
    Json& raw(std::string_view text) {
        separate();
        text_ += text;
        return *this;
    }
    template <class T>
    Json& field(std::string_view name, const T& content) {
        return key(name).value(content);
    }
    const std::string& text() const { return text_; }

  private:
    void separate() {
        if (!fresh_) text_ += ',';
        fresh_ = false;
    }
    void escape(unsigned char byte) {
        static constexpr char digits[] = "0123456789abcdef";
        ((text_ += "\\u00") += digits[byte >> 4]) += digits[byte & 15];
    }

    std::string text_;
    bool fresh_ = true;
};

}  // namespace simt
