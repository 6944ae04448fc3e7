#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "base/system_memory.h"
#include "ir/tensor.h"

namespace hone {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector register

std::shared_ptr<void> allocate(size_t bytes) {
  auto charge = std::make_shared<MemoryCharge>(static_cast<int64_t>(bytes), "a tensor");
  return {::operator new(bytes, kAlignment),
          [charge = std::move(charge)](void* memory) { ::operator delete(memory, kAlignment); }};
}

constexpr size_t kOfTheSystem = size_t{1} << 20;  // from so many bytes on zeros come from the system

std::shared_ptr<void> zeros_of_the_system(size_t bytes) {
  struct Charged {
    MemoryCharge charge;
    std::shared_ptr<std::byte> memory;
  };
  auto charged =
      std::make_shared<Charged>(Charged{MemoryCharge(static_cast<int64_t>(bytes), "a tensor"), system_memory(bytes)});
  if (!charged->memory) throw std::bad_alloc();
  return {charged, charged->memory.get()};
}

template <class Element>
void exchange_axes(const std::byte* from, int64_t from_rows, int64_t from_columns, int64_t to_columns, std::byte* to) {
  constexpr int64_t kSide = 64 / sizeof(Element);  // a line of the cache is written as a whole
  constexpr int64_t kRun = 64;                     // of rows that are read for it
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Element));
  for (int64_t c0 = 0; c0 < from_columns; c0 += kRun)
    for (int64_t r0 = 0; r0 < from_rows; r0 += kSide)
      for (int64_t c = c0; c < std::min(c0 + kRun, from_columns); ++c)
        for (int64_t r = r0; r < std::min(r0 + kSide, from_rows); ++r)
          std::memcpy(to + (c * to_columns + r) * kBytes, from + (r * from_columns + c) * kBytes, sizeof(Element));
}

// Some rows of a matrix, as the first columns of one with `to_columns`.
void exchange_axes(const std::byte* from, int64_t rows, int64_t columns, int64_t to_columns, int64_t element_bytes,
                   std::byte* to) {
  const auto exchange = element_bytes == 1   ? exchange_axes<uint8_t>
                        : element_bytes == 2 ? exchange_axes<uint16_t>
                        : element_bytes == 4 ? exchange_axes<uint32_t>
                                             : exchange_axes<uint64_t>;
  CHECK(element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8);
  exchange(from, rows, columns, to_columns, to);
}

// Pages of a file are given back after some MB have been read.
Buffer in_order(const Buffer::Source& source) {
  constexpr int64_t kPiece = 4 << 20;
  Buffer buffer = Buffer::uninitialised(source.bytes.size());
  std::byte* const to = buffer.mutable_bytes().data();
  const int64_t lines = source.by_columns ? source.columns : source.rows,
                length = source.by_columns ? source.rows : source.columns, line_bytes = length * source.element_bytes;
  const int64_t step = std::max<int64_t>(kPiece / std::max<int64_t>(line_bytes, 1) / 64 * 64, 64);
  for (int64_t first = 0; first < lines && line_bytes > 0; first += step) {
    const int64_t count = std::min(step, lines - first);
    const auto piece =
        source.bytes.subspan(static_cast<size_t>(first * line_bytes), static_cast<size_t>(count * line_bytes));
    if (source.by_columns)
      exchange_axes(piece.data(), count, length, lines, source.element_bytes, to + first * source.element_bytes);
    else std::memcpy(to + first * line_bytes, piece.data(), piece.size());
    if (source.mapped) drop_pages(piece);
  }
  return buffer;
}

bool is_aligned(const Buffer::Source& source) {
  return reinterpret_cast<uintptr_t>(source.bytes.data()) % static_cast<size_t>(source.element_bytes) == 0;
}

}  // namespace

// Guards its own members; what has been put in order stays where it is.
struct Buffer::Unordered {
  mutable std::mutex mutex;
  mutable Source source;  // without bytes, when they are in order and were no file's
  mutable Buffer ordered;
};

const Buffer::Unordered& Buffer::unordered() const { return *static_cast<const Unordered*>(owner_.get()); }

Buffer Buffer::of_source(Source source) {
  CHECK(std::ssize(source.bytes) == source.rows * source.columns * source.element_bytes);
  if (source.bytes.empty()) return {};
  if (!source.by_columns && is_aligned(source)) return {std::move(source.owner), source.bytes, source.mapped};
  Buffer buffer;
  buffer.view_ = source.bytes;  // for its size
  auto unordered = std::make_shared<Unordered>();
  unordered->source = std::move(source);
  buffer.owner_ = std::move(unordered);
  buffer.unordered_ = true;
  return buffer;
}

std::optional<Buffer::Source> Buffer::source() const {
  if (!unordered_) return std::nullopt;
  const Unordered& own = unordered();
  const std::lock_guard lock(own.mutex);
  return own.ordered.size() == 0 ? std::optional(own.source) : std::nullopt;
}

std::span<const std::byte> Buffer::bytes_in_order() const {
  CHECK(!memory_, "{} bytes of {} read as the host's", view_.size(), memory_->name());
  const Unordered& own = unordered();
  const std::lock_guard lock(own.mutex);
  if (own.ordered.size() == 0) {
    own.ordered = in_order(own.source);
    if (!own.source.mapped) own.source = {};
  }
  return own.ordered.bytes();
}

std::byte* Buffer::unaligned_address() const {
  if (const auto lying = source(); lying && lying->mapped && !lying->by_columns)
    return const_cast<std::byte*>(lying->bytes.data());
  return address();
}

Buffer Buffer::transposed(int64_t rows, int64_t columns, int64_t element_bytes) const {
  const std::optional<Source> own = source();
  const bool lies_so = own && own->by_columns &&
                       std::tie(own->rows, own->columns, own->element_bytes) == std::tie(rows, columns, element_bytes);
  const bool stays = writable_ || mapped_ || (own && !own->by_columns);
  Source result{.rows = columns, .columns = rows, .element_bytes = element_bytes, .by_columns = !lies_so};
  if (own && (lies_so || !own->by_columns)) {
    result.owner = own->owner, result.bytes = own->bytes, result.mapped = own->mapped;
    return of_source(std::move(result));
  }
  result.owner = owner_, result.bytes = bytes(), result.mapped = mapped_;
  return stays ? of_source(std::move(result)) : in_order(result);
}

Buffer Buffer::uninitialised(size_t bytes) {
  if (bytes >= kHugePage) return Buffer(bytes);  // such memory is zero as it comes
  Buffer buffer;
  buffer.writable_ = true;
  if (bytes == 0) return buffer;
  std::shared_ptr<void> memory = allocate(bytes);
  buffer.view_ = {static_cast<const std::byte*>(memory.get()), bytes};
  buffer.owner_ = std::move(memory);
  return buffer;
}

Buffer::Buffer(size_t bytes) {
  if (bytes < kOfTheSystem) {
    *this = uninitialised(bytes);
    if (bytes > 0) std::memset(const_cast<std::byte*>(view_.data()), 0, bytes);
    return;
  }
  std::shared_ptr<void> memory = zeros_of_the_system(bytes);
  view_ = {static_cast<const std::byte*>(memory.get()), bytes};
  owner_ = std::move(memory);
  writable_ = true;
}

Buffer::Buffer(std::shared_ptr<const void> owner, std::span<const std::byte> view, bool mapped)
    : owner_(std::move(owner)), view_(view), mapped_(mapped) {}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  Buffer copy = uninitialised(bytes.size());
  if (!bytes.empty()) std::memcpy(const_cast<std::byte*>(copy.view_.data()), bytes.data(), bytes.size());
  return copy;
}

Buffer Buffer::of_device(Memory& memory, std::shared_ptr<const void> owner, std::span<const std::byte> view) {
  Buffer buffer(std::move(owner), view);
  buffer.memory_ = &memory;
  buffer.writable_ = true;
  return buffer;
}

Buffer Buffer::on_host() const {
  if (!memory_) return *this;
  Buffer copy = uninitialised(view_.size());
  if (!view_.empty()) memory_->read(view_.data(), copy.mutable_bytes());
  return copy;
}

std::span<std::byte> Buffer::mutable_bytes() {
  CHECK(!memory_, "{} bytes of {} written as the host's", view_.size(), memory_->name());
  if (!is_unique()) *this = copy_of(bytes());
  return {const_cast<std::byte*>(view_.data()), view_.size()};  // our own allocation, seen by nobody else
}

}  // namespace hone
