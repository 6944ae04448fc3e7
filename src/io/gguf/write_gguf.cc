#include "io/gguf/write_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/multiples.h"
#include "io/gguf/gguf_blocks.h"
#include "io/gguf/gguf_header.h"
#include "io/pieces.h"

namespace hone {
namespace {

using Type = GgufValue::Type;
constexpr int64_t kAlignment = 32;

class HeaderText {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(std::string_view text) { number<uint64_t>(text.size()), bytes_.append(text); }
  void type(Type type) { number(static_cast<uint32_t>(type)); }

  void value(uint32_t x) { type(Type::u32), number(x); }
  void value(int32_t x) { type(Type::i32), number(x); }
  void value(float x) { type(Type::f32), number(x); }
  void value(bool x) { type(Type::boolean), number<uint8_t>(x); }
  void value(const std::string& x) { type(Type::string), string(x); }
  void value(const std::vector<std::string>& x) {
    array(Type::string, x.size());
    for (const std::string& text : x) string(text);
  }
  void value(const std::vector<int32_t>& x) {
    array(Type::i32, x.size());
    for (const int32_t n : x) number(n);
  }
  void value(const std::vector<float>& x) {
    array(Type::f32, x.size());
    for (const float n : x) number(n);
  }

  std::string take() { return std::move(bytes_); }

 private:
  void array(Type element, size_t count) { type(Type::array), type(element), number<uint64_t>(count); }

  std::string bytes_;
};

void check_names(const std::string& path, std::span<const NamedTensor> tensors) {
  std::unordered_set<std::string_view> names;
  for (const NamedTensor& t : tensors) {
    if (t.name.size() > kMostGgufName)
      fail("{}: tensor \"{}\" has a name of {} bytes; GGUF has at most {}", path, t.name, t.name.size(), kMostGgufName);
    if (!names.insert(t.name).second) fail("{}: two tensors are called \"{}\"", path, t.name);
    if (std::ssize(t.tensor.shape()) > kMostGgufDims)
      fail("{}: tensor \"{}\" has {} dimensions; GGUF has at most {}", path, t.name, t.tensor.shape().size(),
           kMostGgufDims);
  }
}

int64_t bytes_in_file(const GgufType& type, const Tensor& tensor) {
  return tensor.elements() / type.block * type.bytes;
}

std::string header_of(std::span<const NamedTensor> tensors, std::span<const GgufType* const> types,
                      const GgufSettings& settings) {
  HeaderText text;
  for (const char c : kGgufMagic) text.number(c);
  text.number<uint32_t>(3);
  text.number<uint64_t>(tensors.size()), text.number<uint64_t>(settings.size());
  for (const auto& [key, setting] : settings) {
    text.string(key);
    std::visit([&](const auto& value) { text.value(value); }, setting);
  }
  int64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i].tensor;
    text.string(tensors[i].name);
    text.number(static_cast<uint32_t>(tensor.shape().size()));
    for (size_t d = tensor.shape().size(); d > 0; --d) text.number<int64_t>(tensor.shape()[d - 1]);
    text.number(types[i]->id);
    text.number<int64_t>(offset);
    offset = round_up(offset + bytes_in_file(*types[i], tensor), kAlignment);
  }
  std::string bytes = text.take();
  bytes.resize(static_cast<size_t>(round_up(std::ssize(bytes), kAlignment)));
  return bytes;
}

void write_tensor(AtomicFile& file, const GgufType& type, const Tensor& tensor) {
  if (type.is_packed()) file.write(blocks_of(type, tensor));
  else for_each_piece(tensor, [&](std::span<const std::byte> piece) { file.write(piece); });
  const int64_t bytes = bytes_in_file(type, tensor);
  const std::vector<std::byte> padding(static_cast<size_t>(round_up(bytes, kAlignment) - bytes));
  file.write(padding);
}

}  // namespace

const GgufType& nearest_gguf_type(const GgufType& wanted, int64_t row) {
  const GgufType* nearest = nullptr;
  for (const GgufType& type : gguf_types()) {
    const bool fits = is_writable(type) && (type.is_packed() || is_float(*type.dtype)) && row % type.block == 0;
    if (!fits) continue;
    const double distance = std::abs(type.bits() - wanted.bits());
    if (!nearest || distance < std::abs(nearest->bits() - wanted.bits())) nearest = &type;
  }
  return *nearest;  // F32 fits any row
}

const GgufType& gguf_type_of(const std::string& name, const Tensor& tensor) {
  const std::string format = tensor.is_packed() ? to_string(*tensor.format()) : "";
  std::vector<std::string> known;
  for (const GgufType& type : gguf_types()) {
    if (!is_writable(type)) continue;
    known.push_back(type.is_packed() ? fmt::format("{} ({})", type.format, type.name) : type.name);
    const bool is_same =
        type.is_packed() ? format == type.format : !tensor.is_packed() && tensor.dtype() == *type.dtype;
    if (!is_same) continue;
    const int64_t row = tensor.shape().empty() ? 1 : tensor.shape().back();
    if (row % type.block == 0) return type;
    const GgufType& nearest = nearest_gguf_type(type, row);
    fail(
        "tensor \"{}\" has rows of {}, which are no whole blocks of {} of {}; the nearest type that fits is {} "
        "({}, {:.4g} bits a weight in place of {:.4g})",
        name, row, type.block, type.name, nearest.name, nearest.format, nearest.bits(), type.bits());
  }
  fail("tensor \"{}\" is {}, for which GGUF has no type; it has: {}", name, to_string(tensor.type()),
       fmt::join(known, ", "));
}

void write_gguf(const std::string& path, std::span<const NamedTensor> tensors, const GgufSettings& settings) {
  CHECK(settings.contains("general.architecture") && !settings.contains("general.alignment"));
  check_names(path, tensors);
  std::vector<const GgufType*> types;
  for (const NamedTensor& t : tensors) types.push_back(&gguf_type_of(t.name, t.tensor));
  AtomicFile file(path);
  file.write(header_of(tensors, types, settings));
  for (size_t i = 0; i < tensors.size(); ++i) write_tensor(file, *types[i], tensors[i].tensor);
  file.commit();
}

}  // namespace hone
