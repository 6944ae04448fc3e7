// One pass over the JSON by events, since a header may list ten thousand tensors; then the checks of the reference
// reader.
#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/stop.h"

namespace hone {
namespace {

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<DTypeName, 16> kDTypes{{{"BOOL", DType::boolean},
                                             {"U8", DType::u8},
                                             {"I8", DType::i8},
                                             {"U16", DType::u16},
                                             {"I16", DType::i16},
                                             {"F16", DType::f16},
                                             {"BF16", DType::bf16},
                                             {"U32", DType::u32},
                                             {"I32", DType::i32},
                                             {"F32", DType::f32},
                                             {"U64", DType::u64},
                                             {"I64", DType::i64},
                                             {"F64", DType::f64},
                                             {"F8_E4M3", DType::f8e4m3fn},
                                             {"F8_E5M2", DType::f8e5m2},
                                             {"F8_E8M0", DType::f8e8m0}}};

constexpr const char* kAccepted =
    "BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64, F8_E4M3, F8_E5M2, F8_E8M0";

// Receives the events of { "__metadata__": {key: text}, name: {"dtype": text, "shape": [..], "data_offsets": [begin,
// end]} }.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderEvents(SafetensorsHeader& out, const std::string& source) : out_(out), source_(source) {}

  bool start_object(size_t) override {
    if (depth_ >= 2) refuse("an object");
    if (++depth_ == 2 && !in_metadata_) {
      entry_ = {};
      entry_.name = key_;
      has_dtype_ = has_shape_ = has_offsets_ = false;
    }
    return true;
  }

  bool key(string_t& text) override {
    check_stop();
    if (depth_ == 1) return top_key(text);
    if (in_metadata_) {
      if (out_.metadata.contains(text)) fail("{}: duplicate metadata key \"{}\"", source_, text);
    } else if (text == "dtype"          ? has_dtype_
               : text == "shape"        ? has_shape_
               : text == "data_offsets" ? has_offsets_
                                        : false) {
      fail("{}: tensor \"{}\": duplicate key \"{}\"", source_, entry_.name, text);
    } else if (text != "dtype" && text != "shape" && text != "data_offsets") {
      fail("{}: tensor \"{}\": unknown key \"{}\"; accepted: dtype, shape, data_offsets", source_, entry_.name, text);
    }
    field_ = std::move(text);
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ != 2 || in_array_) refuse("a string");
    if (in_metadata_) {
      out_.metadata.emplace(field_, std::move(text));
    } else {
      if (field_ != "dtype") refuse("a string");
      set_dtype(text);
    }
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_array_ || in_metadata_ || field_ == "dtype") refuse("an array");
    in_array_ = true;
    numbers_.clear();
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    constexpr size_t kMost = 64;  // dimensions; data_offsets are two
    if (!in_array_) refuse("a number");
    if (numbers_.size() == kMost)
      fail("{}: tensor \"{}\": {} has more than {} numbers", source_, entry_.name, field_, kMost);
    numbers_.push_back(value);
    return true;
  }

  bool end_array() override {
    in_array_ = false;
    if (field_ == "shape") {
      has_shape_ = true;
      for (uint64_t n : numbers_) {
        if (n > INT64_MAX) fail("{}: tensor \"{}\": dimension {} is too large", source_, entry_.name, n);
        entry_.shape.push_back(static_cast<int64_t>(n));
      }
    } else {
      has_offsets_ = true;
      if (numbers_.size() != 2)
        fail("{}: tensor \"{}\": data_offsets has {} numbers; expected [begin, end]", source_, entry_.name,
             numbers_.size());
      entry_.begin = numbers_[0];
      entry_.end = numbers_[1];
    }
    return true;
  }

  bool end_object() override {
    if (depth_-- == 1) return true;
    if (in_metadata_) {
      in_metadata_ = false;
      return true;
    }
    if (!has_dtype_ || !has_shape_ || !has_offsets_)
      fail("{}: tensor \"{}\": key \"{}\" is missing", source_, entry_.name,
           !has_dtype_   ? "dtype"
           : !has_shape_ ? "shape"
                         : "data_offsets");
    out_.entries.push_back(std::move(entry_));
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(number_integer_t value) override { refuse(fmt::format("the negative number {}", value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(fmt::format("the number {}", text)); }
  bool binary(binary_t&) override { refuse("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& e) override {
    fail("{}: the safetensors header is not valid JSON at its byte {}: {}", source_, position, e.what());
  }

 private:
  bool top_key(string_t& text) {
    if (!names_.insert(text).second) fail("{}: duplicate tensor name \"{}\"", source_, text);
    in_metadata_ = text == "__metadata__";
    key_ = std::move(text);
    return true;
  }

  void set_dtype(const std::string& text) {
    has_dtype_ = true;
    for (const DTypeName& known : kDTypes)
      if (known.name == text) {
        entry_.dtype = known.dtype;
        return;
      }
    fail("{}: tensor \"{}\": dtype \"{}\" is not supported; supported: {}. Convert it to F32 or BF16 before saving",
         source_, entry_.name, text, kAccepted);
  }

  [[noreturn]] void refuse(const std::string& found) const {
    if (depth_ == 0) fail("{}: the safetensors header is {}; expected an object", source_, found);
    if (depth_ == 1)
      fail("{}: tensor \"{}\" is {}; expected an object with dtype, shape, data_offsets", source_, key_, found);
    if (in_metadata_) fail("{}: metadata \"{}\" is {}; expected a string", source_, field_, found);
    fail("{}: tensor \"{}\": {} holds {}; expected {}", source_, entry_.name, field_, found,
         field_ == "dtype" ? "a string" : "an array of integers that are at least 0");
  }

  SafetensorsHeader& out_;
  const std::string& source_;
  std::unordered_set<std::string> names_;
  std::string key_, field_;
  SafetensorsEntry entry_;
  std::vector<uint64_t> numbers_;
  int depth_ = 0;
  bool in_metadata_ = false, in_array_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

uint64_t bytes_of(const SafetensorsEntry& entry, const std::string& source) {
  uint64_t bytes = static_cast<uint64_t>(size_bytes(entry.dtype));
  for (int64_t n : entry.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(n), &bytes))
      fail("{}: tensor \"{}\": shape [{}] overflows 64 bits", source, entry.name, fmt::join(entry.shape, ","));
  return bytes;
}

// The tensors tile the buffer: no hole, no overlap, nothing behind the end.
void check_ranges(const SafetensorsHeader& header, uint64_t buffer_bytes, const std::string& source) {
  uint64_t position = 0;
  for (const SafetensorsEntry& e : header.entries) {
    if (e.end < e.begin || e.end > buffer_bytes)
      fail("{}: tensor \"{}\": data_offsets [{}, {}] lie outside the buffer of {} bytes; the file may be truncated",
           source, e.name, e.begin, e.end, buffer_bytes);
    if (e.begin != position)
      fail("{}: tensor \"{}\": starts at {}, but the tensors before it end at {}: {}", source, e.name, e.begin,
           position, e.begin < position ? "they overlap" : "a hole");
    const uint64_t bytes = bytes_of(e, source);
    if (e.end - e.begin != bytes)
      fail("{}: tensor \"{}\": {}[{}] takes {} bytes, but data_offsets [{}, {}] hold {}", source, e.name,
           *safetensors_name(e.dtype), fmt::join(e.shape, ","), bytes, e.begin, e.end, e.end - e.begin);
    position = e.end;
  }
  if (position != buffer_bytes)
    fail("{}: the tensors end at byte {} of a buffer of {}; {} bytes belong to none", source, position, buffer_bytes,
         buffer_bytes - position);
}

}  // namespace

std::optional<std::string_view> safetensors_name(DType dtype) {
  for (const DTypeName& known : kDTypes)
    if (known.dtype == dtype) return known.name;
  return std::nullopt;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t buffer_bytes, const std::string& source) {
  SafetensorsHeader header;
  HeaderEvents events(header, source);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_ranges(header, buffer_bytes, source);
  return header;
}

}  // namespace hone
