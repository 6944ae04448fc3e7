// A value of a GGUF file's metadata: a number, a text, or a list of either. Lists look at the mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct GgufValue {
  enum class Type : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
  Type type = Type::u8;
  Type element = Type::u8;           // of an array
  uint64_t count = 1;                // of an array
  std::span<const std::byte> bytes;  // of the number or numbers, without alignment
  std::vector<std::string_view> strings;
  bool is_text() const { return (type == Type::array ? element : type) == Type::string; }
};

std::string_view to_string(GgufValue::Type type);
int gguf_value_bytes(GgufValue::Type type);  // of a number; 0: string, array

// The values of a file by their keys. What is read as something else than it is, or is missing, is an Error that names
// the file and the key.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  explicit GgufMetadata(std::string source) : source_(std::move(source)) {}

  void add(std::string_view key, GgufValue value);  // Error for a key that is there

  const std::string& source() const { return source_; }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }
  bool has(std::string_view key) const { return values_.contains(key); }

  int64_t integer(std::string_view key) const;  // of any integer type, or a boolean
  double number(std::string_view key) const;    // of any number
  bool flag(std::string_view key) const;
  std::string text(std::string_view key) const;
  int64_t integer_or(std::string_view key, int64_t otherwise) const { return has(key) ? integer(key) : otherwise; }
  bool flag_or(std::string_view key, bool otherwise) const { return has(key) ? flag(key) : otherwise; }
  std::string text_or(std::string_view key, std::string_view otherwise) const {
    return has(key) ? text(key) : std::string(otherwise);
  }
  const std::vector<std::string_view>& texts(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;

 private:
  const GgufValue& get(std::string_view key, const char* wanted) const;
  std::string place_of(std::string_view key) const;  // for errors
  [[noreturn]] void wrong(std::string_view key, const GgufValue& value, const char* wanted) const;

  std::string source_;
  std::map<std::string, GgufValue, std::less<>> values_;
};

}  // namespace hone
