#include "io/sparse_storage.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "formats/bits.h"
#include "formats/packed.h"

namespace hone {
namespace {

bool bit(const std::byte* bitmap, int64_t i) { return (std::to_integer<int>(bitmap[i / 8]) >> (i % 8) & 1) != 0; }

// The bitmap of the elements for which `differs` holds.
template <class Differs>
Buffer marked(int64_t elements, const Differs& differs) {
  Buffer bitmap(static_cast<size_t>(stream_bytes(elements, 1)));
  const std::span<std::byte> bits = bitmap.mutable_bytes();
  for (int64_t i = 0; i < elements; ++i) {
    if (differs(i)) bits[static_cast<size_t>(i / 8)] |= std::byte{1} << static_cast<int>(i % 8);
  }
  return bitmap;
}

int64_t marks(const Buffer& bitmap) {
  int64_t count = 0;
  for (std::byte b : bitmap.bytes()) count += std::popcount(std::to_integer<uint8_t>(b));
  return count;
}

std::optional<SparseTensor> plain_form(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return std::nullopt;
  const auto each = static_cast<size_t>(size_bytes(tensor.dtype()));
  const std::span<const std::byte> bytes = tensor.data().bytes();
  const auto element = [&](int64_t i) { return bytes.subspan(static_cast<size_t>(i) * each, each); };
  const auto differs = [&](int64_t i) {
    return std::ranges::any_of(element(i), [](std::byte b) { return b != std::byte{0}; });
  };
  SparseTensor sparse{.bitmap = marked(tensor.elements(), differs), .values = Buffer()};
  sparse.values = Buffer(static_cast<size_t>(marks(sparse.bitmap)) * each);
  std::byte* out = sparse.values.mutable_bytes().data();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    if (bit(sparse.bitmap.address(), i)) out = std::ranges::copy(element(i), out).out;
  return sparse;
}

// Codes in the order in which they are stored, padding included.
std::vector<uint32_t> stored_codes(const Format& format, const PackedLayout& layout, const std::byte* plane) {
  std::vector<uint32_t> codes(static_cast<size_t>(checked_mul(layout.padded_lines, layout.padded_elems)));
  const auto width = static_cast<size_t>(layout.padded_elems);
  for (size_t line = 0; line < static_cast<size_t>(layout.padded_lines); ++line)
    read_codes(plane + line * static_cast<size_t>(layout.line_bytes), format.element.bits, 0,
               std::span(codes).subspan(line * width, width));
  return codes;
}

std::optional<SparseTensor> packed_form(const Tensor& tensor) {
  const Format& format = *tensor.format();
  const PackedLayout layout = packed_layout(format, tensor.shape());
  if (layout.code_planes != 1 || tensor.elements() == 0) return std::nullopt;
  const std::vector<uint32_t> codes = stored_codes(format, layout, tensor.data().address());
  std::map<uint32_t, int64_t> counts;
  for (uint32_t code : codes) ++counts[code];
  const uint32_t fill = std::ranges::max_element(counts, {}, &std::pair<const uint32_t, int64_t>::second)->first;
  std::vector<uint32_t> others;
  std::ranges::copy_if(codes, std::back_inserter(others), [&](uint32_t code) { return code != fill; });
  SparseTensor sparse{
      .bitmap = marked(std::ssize(codes), [&](int64_t i) { return codes[static_cast<size_t>(i)] != fill; }),
      .values = Buffer(static_cast<size_t>(stream_bytes(std::ssize(others), format.element.bits))),
      .fill = fill};
  write_codes(sparse.values.mutable_bytes().data(), format.element.bits, others);
  const Buffer back =
      whole_codes(sparse, format, tensor.shape());  // bits between lines may be anything in a foreign file
  return std::ranges::equal(back.bytes(), tensor.data().bytes()) ? std::optional(std::move(sparse)) : std::nullopt;
}

// That all of it fits; `value_bits` of each that the bitmap marks are in `values`.
void check(const SparseTensor& sparse, int64_t elements, int64_t value_bits) {
  const std::span<const std::byte> bits = sparse.bitmap.bytes();
  if (std::ssize(bits) != (elements - 1) / 8 + (elements > 0))
    fail("the bitmap has {} bytes; {} elements need {}", bits.size(), elements, (elements - 1) / 8 + (elements > 0));
  for (int64_t i = elements; i < 8 * std::ssize(bits); ++i)
    if (bit(bits.data(), i)) fail("the bitmap marks element {}; there are {}", i, elements);
  const int64_t count = marks(sparse.bitmap), bytes = (count * value_bits + 7) / 8;
  if (std::ssize(sparse.values.bytes()) != bytes)
    fail("the values have {} bytes; the bitmap marks {} elements, which take {}", sparse.values.size(), count, bytes);
}

}  // namespace

std::optional<SparseTensor> sparse_form(const Tensor& tensor) {
  std::optional<SparseTensor> sparse = tensor.is_packed() ? packed_form(tensor) : plain_form(tensor);
  if (sparse && sparse->bitmap.size() + sparse->values.size() >= tensor.data().size()) sparse.reset();
  return sparse;
}

int64_t sparse_bytes(const Tensor& tensor) {
  const std::optional<SparseTensor> sparse = sparse_form(tensor);
  const auto saved = sparse ? tensor.data().size() - sparse->bitmap.size() - sparse->values.size() : 0;
  return tensor.bytes() - static_cast<int64_t>(saved);
}

Buffer whole_elements(const SparseTensor& sparse, int64_t elements, int64_t element_bytes) {
  check(sparse, elements, 8 * element_bytes);
  const int64_t bytes = checked_mul(elements, element_bytes);
  require_memory(bytes, "the elements of a tensor that is stored as a bitmap and values");
  Buffer whole(static_cast<size_t>(bytes));
  const std::byte* from = sparse.values.address();
  std::byte* to = whole.mutable_bytes().data();
  for (int64_t i = 0; i < elements; ++i, to += element_bytes)
    if (bit(sparse.bitmap.address(), i)) {
      std::memcpy(to, from, static_cast<size_t>(element_bytes));
      from += element_bytes;
    }
  return whole;
}

Buffer whole_codes(const SparseTensor& sparse, const Format& format, std::span<const int64_t> shape) {
  const PackedLayout layout = packed_layout(format, shape);
  const int width = format.element.bits;
  if (layout.code_planes != 1)
    fail("{} has several planes of codes, which are not stored as a bitmap", to_string(format));
  if (width < 32 && sparse.fill >> width != 0) fail("the fill {} is no code of {} bits", sparse.fill, width);
  const int64_t elements = checked_mul(layout.padded_lines, layout.padded_elems);
  check(sparse, elements, width);
  const int64_t bytes = checked_mul(layout.padded_lines, layout.line_bytes);
  require_memory(bytes, "the codes of a tensor that is stored as a bitmap and values");
  Buffer whole(static_cast<size_t>(bytes));
  std::vector<uint32_t> line(static_cast<size_t>(layout.padded_elems));
  int64_t next = 0;
  for (int64_t l = 0, i = 0; l < layout.padded_lines; ++l) {
    for (uint32_t& code : line) {
      code = sparse.fill;
      if (bit(sparse.bitmap.address(), i++)) read_codes(sparse.values.address(), width, next++, {&code, 1});
    }
    write_codes(whole.mutable_bytes().data() + l * layout.line_bytes, width, line);
  }
  return whole;
}

}  // namespace hone
