#include "runtime/page_table.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/multiples.h"
#include "base/text.h"
#include "runtime/arena.h"

namespace hone {
namespace {

const TensorType& state_type(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (input.role != InputRole::state) continue;
    if (input.label == name) return input.type;
    names.push_back(input.label);
  }
  fail("graph {} has no state \"{}\"{}", graph.name, name, did_you_mean(name, names));
}

Buffer grown(size_t bytes, const Buffer* before) {
  Buffer buffer(bytes);  // of which what is not copied is not touched
  if (before) std::ranges::copy(before->bytes(), buffer.mutable_bytes().begin());
  return buffer;
}

Tensor pages_of(const TensorType& type, int64_t pages, const Tensor* before) {
  std::vector<int64_t> shape{pages};
  for (size_t i = 1; i < type.rank(); ++i) shape.push_back(type.shape[i].constant());
  const PlaneSizes sizes = plane_sizes(type, shape);
  std::array<Buffer, kPlanes> planes;
  for (size_t p = 0; p < kPlanes; ++p)
    planes[p] = grown(static_cast<size_t>(sizes[p]), before ? before->buffers()[p] : nullptr);
  if (!type.is_packed()) return Tensor(type.dtype, shape, planes[0]);
  return Tensor::packed(*type.format, shape, planes[0], planes[1], planes[2], planes[3]);
}

// Pages that make 8 MB in all states together: what of them is not written has no memory yet, and what is there need
// not move for a while.
int64_t least_piece(std::span<const TensorType> types) {
  int64_t bytes = 0;
  for (const TensorType& type : types) {
    std::vector<int64_t> shape{1};
    for (size_t i = 1; i < type.rank(); ++i) shape.push_back(type.shape[i].constant());
    bytes = checked_add(bytes, bytes_in_memory(type, shape));
  }
  return std::min<int64_t>((int64_t{8} << 20) / std::max<int64_t>(bytes, 1), 1 << 16);
}

}  // namespace

PageTable::PageTable(const Graph& graph, Context& context, PagedStates names, int64_t sequences)
    : context_(context), names_(std::move(names)), pages_of_(static_cast<size_t>(std::max<int64_t>(sequences, 0))) {
  if (sequences < 1) fail("a page table of {} sequences; at least 1 is needed", sequences);
  if (names_.pages.empty()) fail("a page table needs the name of at least one state of pages");
  for (const std::string& name : names_.pages) {
    const TensorType& type = state_type(graph, name);
    const auto is_open = [](const Dim& dim) { return !dim.is_constant(); };
    if (type.rank() < 2 || !is_open(type.shape[0]) || std::any_of(type.shape.begin() + 1, type.shape.end(), is_open))
      fail("state \"{}\" is {}; accepted: [P,R,...] with an open number of pages P and nothing else open", name,
           to_string(type));
    const int64_t rows = type.shape[1].constant();
    if (rows < 1 || (page_rows_ && rows != page_rows_))
      fail("state \"{}\" has pages of {} rows; \"{}\" of {}", name, rows, names_.pages[0], page_rows_);
    page_rows_ = rows;
    types_.push_back(type);
  }
  for (const auto& [name, rank] : {std::pair(names_.table, size_t{2}), std::pair(names_.lengths, size_t{1})})
    if (const TensorType& type = state_type(graph, name); type.dtype != DType::i64 || type.rank() != rank)
      fail("state \"{}\" is {}; accepted: i64 of rank {}", name, to_string(type), rank);
  for (size_t i = 0; i < types_.size(); ++i) context_.set_state(names_.pages[i], pages_of(types_[i], 1, nullptr));
  free_ = {0};
  write_table();
  context_.set_state(names_.lengths, Tensor(DType::i64, {sequences}));
}

std::vector<int64_t> PageTable::lengths() const { return context_.state(names_.lengths).to_integers(); }

void PageTable::reserve(int64_t rows) {
  std::vector<int64_t> columns = lengths();
  for (int64_t& length : columns) length = ceil_div(checked_add(length, std::max<int64_t>(rows, 0)), page_rows_);
  need(std::move(columns));
}

void PageTable::reserve(int64_t sequence, int64_t rows) {
  const std::vector<int64_t> now = lengths();
  if (sequence < 0 || sequence >= std::ssize(now)) fail("sequence {} of {}", sequence, now.size());
  std::vector<int64_t> columns(now.size());
  const auto at = static_cast<size_t>(sequence);
  columns[at] = ceil_div(checked_add(now[at], std::max<int64_t>(rows, 0)), page_rows_);
  need(std::move(columns));
}

// At least so many pages for each sequence.
void PageTable::need(std::vector<int64_t> columns) {
  int64_t missing = 0, widest = columns_;
  for (size_t b = 0; b < columns.size(); ++b) {
    missing = checked_add(missing, std::max<int64_t>(0, columns[b] - std::ssize(pages_of_[b])));
    widest = std::max(widest, columns[b]);
  }
  if (missing == 0) return;
  if (const int64_t more = missing - std::ssize(free_); more > 0) {
    const int64_t before = pages();
    int64_t now = checked_add(before, std::max({more, checked_mul(before, 3), least_piece(types_)}));
    try {
      grow(now);
    } catch (const MemoryError&) {
      grow(now = checked_add(before, more));
    }
    std::vector<int64_t> all;
    for (int64_t page = now; page-- > before;) all.push_back(page);
    all.insert(all.end(), free_.begin(), free_.end());
    free_ = std::move(all);
  }
  for (size_t b = 0; b < columns.size(); ++b)
    while (std::ssize(pages_of_[b]) < columns[b]) {
      pages_of_[b].push_back(free_.back());
      free_.pop_back();
      ++used_;
    }
  if (widest > columns_) columns_ = std::max(widest, columns_ + columns_ / 2);
  write_table();
}

void PageTable::grow(int64_t pages) {
  std::vector<Tensor> grown;
  for (size_t i = 0; i < types_.size(); ++i) {
    const Tensor held = context_.state(names_.pages[i]);
    grown.push_back(pages_of(types_[i], pages, &held));
  }
  for (size_t i = 0; i < types_.size(); ++i) context_.set_state(names_.pages[i], std::move(grown[i]));
}

void PageTable::write_table() {
  const int64_t sequences = std::ssize(pages_of_);
  std::vector<int64_t> table(static_cast<size_t>(checked_mul(sequences, columns_)), -1);
  for (int64_t b = 0; b < sequences; ++b)
    std::ranges::copy(pages_of_[static_cast<size_t>(b)], table.begin() + b * columns_);
  context_.set_state(names_.table, Tensor::of<int64_t>({sequences, columns_}, table));
}

void PageTable::truncate(int64_t sequence, int64_t length) {
  std::vector<int64_t> now = lengths();
  if (sequence < 0 || sequence >= std::ssize(now)) fail("sequence {} of {}", sequence, now.size());
  const auto b = static_cast<size_t>(sequence);
  if (length < 0 || length > now[b]) fail("sequence {} has {} rows; it can't be cut to {}", sequence, now[b], length);
  now[b] = length;
  context_.set_state(names_.lengths, Tensor::of<int64_t>({std::ssize(now)}, now));
  std::vector<int64_t>& own = pages_of_[b];
  for (const int64_t kept = ceil_div(length, page_rows_); std::ssize(own) > kept; own.pop_back(), --used_)
    free_.push_back(own.back());
  write_table();
}

}  // namespace hone
