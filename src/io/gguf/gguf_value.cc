#include "io/gguf/gguf_value.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/text.h"

namespace hone {
namespace {

using Type = GgufValue::Type;

struct TypeFacts {
  std::string_view name;
  int bytes;
};
constexpr std::array<TypeFacts, 13> kTypes{{{"u8", 1},
                                            {"i8", 1},
                                            {"u16", 2},
                                            {"i16", 2},
                                            {"u32", 4},
                                            {"i32", 4},
                                            {"f32", 4},
                                            {"boolean", 1},
                                            {"string", 0},
                                            {"array", 0},
                                            {"u64", 8},
                                            {"i64", 8},
                                            {"f64", 8}}};

template <class T>
T at(std::span<const std::byte> bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

bool is_number(Type type) { return gguf_value_bytes(type) > 0; }
bool is_whole(Type type) { return is_number(type) && type != Type::f32 && type != Type::f64; }

double number_at(Type type, std::span<const std::byte> bytes, uint64_t i) {
  if (type == Type::f32) return at<float>(bytes, i);
  return at<double>(bytes, i);
}

// `where`: of the value, for errors.
int64_t integer_at(Type type, std::span<const std::byte> bytes, uint64_t i, const std::string& where) {
  switch (type) {
    case Type::u8:
    case Type::boolean:
      return at<uint8_t>(bytes, i);
    case Type::i8:
      return at<int8_t>(bytes, i);
    case Type::u16:
      return at<uint16_t>(bytes, i);
    case Type::i16:
      return at<int16_t>(bytes, i);
    case Type::u32:
      return at<uint32_t>(bytes, i);
    case Type::i32:
      return at<int32_t>(bytes, i);
    case Type::u64: {
      const auto value = at<uint64_t>(bytes, i);
      constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      if (value > kMost) fail("{}: the number {} is too large; at most {} is accepted", where, value, kMost);
      return static_cast<int64_t>(value);
    }
    case Type::i64:
      return at<int64_t>(bytes, i);
    default:
      CHECK(false, "no integer");
  }
}

}  // namespace

std::string_view to_string(Type type) { return kTypes[static_cast<size_t>(type)].name; }
int gguf_value_bytes(Type type) { return kTypes[static_cast<size_t>(type)].bytes; }

void GgufMetadata::add(std::string_view key, GgufValue value) {
  if (!values_.emplace(std::string(key), std::move(value)).second) fail("{}: key \"{}\" is there twice", source_, key);
}

std::string GgufMetadata::place_of(std::string_view key) const { return fmt::format("{}: key \"{}\"", source_, key); }

void GgufMetadata::wrong(std::string_view key, const GgufValue& value, const char* wanted) const {
  const std::string found = value.type == Type::array ? fmt::format("an array of {}", to_string(value.element))
                                                      : fmt::format("of type {}", to_string(value.type));
  fail("{}: key \"{}\" is {}; expected {}", source_, key, found, wanted);
}

const GgufValue& GgufMetadata::get(std::string_view key, const char* wanted) const {
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, value] : values_) known.push_back(name);
  fail("{}: key \"{}\" is missing; expected {}{}", source_, key, wanted, did_you_mean(key, known));
}

int64_t GgufMetadata::integer(std::string_view key) const {
  const GgufValue& value = get(key, "an integer");
  if (!is_whole(value.type)) wrong(key, value, "an integer");
  return integer_at(value.type, value.bytes, 0, place_of(key));
}

double GgufMetadata::number(std::string_view key) const {
  const GgufValue& value = get(key, "a number");
  if (!is_number(value.type)) wrong(key, value, "a number");
  return is_whole(value.type) ? static_cast<double>(integer_at(value.type, value.bytes, 0, place_of(key)))
                              : number_at(value.type, value.bytes, 0);
}

bool GgufMetadata::flag(std::string_view key) const {
  const GgufValue& value = get(key, "a boolean");
  if (value.type != Type::boolean) wrong(key, value, "a boolean");
  return value.bytes[0] != std::byte{0};
}

std::string GgufMetadata::text(std::string_view key) const {
  const GgufValue& value = get(key, "a string");
  if (value.type != Type::string) wrong(key, value, "a string");
  return std::string(value.strings[0]);
}

const std::vector<std::string_view>& GgufMetadata::texts(std::string_view key) const {
  const GgufValue& value = get(key, "an array of strings");
  if (value.type != Type::array || value.element != Type::string) wrong(key, value, "an array of strings");
  return value.strings;
}

std::vector<int64_t> GgufMetadata::integers(std::string_view key) const {
  const GgufValue& value = get(key, "an array of integers");
  if (value.type != Type::array || !is_whole(value.element)) wrong(key, value, "an array of integers");
  const std::string where = place_of(key);
  require_memory(checked_mul(static_cast<int64_t>(value.count), int64_t{sizeof(int64_t)}), where);
  std::vector<int64_t> all;
  all.reserve(value.count);
  for (uint64_t i = 0; i < value.count; ++i) all.push_back(integer_at(value.element, value.bytes, i, where));
  return all;
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  const GgufValue& value = get(key, "an array of numbers");
  if (value.type != Type::array || !is_number(value.element)) wrong(key, value, "an array of numbers");
  const std::string where = place_of(key);
  require_memory(checked_mul(static_cast<int64_t>(value.count), int64_t{sizeof(double)}), where);
  std::vector<double> all;
  all.reserve(value.count);
  for (uint64_t i = 0; i < value.count; ++i)
    all.push_back(is_whole(value.element) ? static_cast<double>(integer_at(value.element, value.bytes, i, where))
                                          : number_at(value.element, value.bytes, i));
  return all;
}

}  // namespace hone
