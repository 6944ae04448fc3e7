// cache_append: new rows of each sequence written behind its others, into pages that a table names.
#include <algorithm>
#include <cstring>

#include "ops/elements.h"
#include "ops/page_rows.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_cache_append(const InferArgs& a) {
  const TensorType &pages = a[0], &rows = a[1], &table = a[2], &lengths = a[3];
  if (pages.rank() < 2) fail("pages are {}; accepted: [pages, rows of a page, ...]", to_string(pages));
  if (rows.dtype != pages.dtype || rows.format != pages.format)
    fail("rows are {} but pages {}; element types must be equal", to_string(rows), to_string(pages));
  if (pages.is_packed()) expect_rows_alone(*pages.format);
  expect_rank(rows, pages.rank(), pages.rank(), "rows [sequences, new rows, ...]");
  for (size_t i = 2; i < pages.rank(); ++i)
    expect_dim(rows.shape[i], pages.shape[i], "a dimension of a row, that of a row of the pages,");
  expect_index(table, "the page table");
  expect_rank(table, 2, 2, "the page table [sequences, pages of a sequence]");
  expect_index(lengths, "the lengths");
  expect_rank(lengths, 1, 1, "the lengths, one for each sequence,");
  expect_dim(table.shape[0], rows.shape[0], "the number of sequences in the page table, that of the rows,");
  expect_dim(lengths.shape[0], rows.shape[0], "the number of lengths, that of sequences,");
  return {pages};
}

std::vector<Tensor> eval_cache_append(const EvalArgs& a) {
  const Tensor &pages = a[0], &rows = a[1];
  const std::vector<int64_t> table = a[2].to_integers(), lengths = a[3].to_integers();
  const PageRows places{table, lengths, rows.dim(1), pages.dim(1), pages.dim(0)};
  if (const std::string fault = places.fault(); !fault.empty()) throw Error(fault);
  std::array<Buffer, 4> planes;
  for (size_t p = 0; p < planes.size(); ++p) {
    planes[p] = Buffer::copy_of(pages.buffers()[p]->bytes());
    const int64_t held = pages.dim(0) * pages.dim(1);
    if (held == 0 || planes[p].size() == 0) continue;
    const size_t bytes = planes[p].size() / static_cast<size_t>(held);
    const std::span<std::byte> to = planes[p].mutable_bytes();
    const std::span<const std::byte> from = rows.buffers()[p]->bytes();
    for (int64_t i = 0; i < places.count(); ++i)
      std::memcpy(to.data() + static_cast<size_t>(places.at(i)) * bytes, from.data() + static_cast<size_t>(i) * bytes,
                  bytes);
  }
  if (pages.is_packed())
    return {Tensor::packed(*pages.format(), pages.shape(), planes[0], planes[1], planes[2], planes[3])};
  return {Tensor(pages.dtype(), pages.shape(), planes[0])};
}

}  // namespace

extern constinit const OpDef cache_append_def{
    .name = "cache_append",
    .doc =
        "The pages [P,R,...] after row s of sequence b, rows[b,s,...], went to row (lengths[b] + s) % R of page "
        "table[b, (lengths[b] + s) / R]. A row past the pages that the table has room for is an Error.",
    .operands = {"pages", "rows", "table", "lengths"},
    .infer = infer_cache_append,
    .eval = eval_cache_append,
    .fits_all_sizes =
        [](const InferArgs& a, const TensorType&) {
          return a[2].shape[0] == a[1].shape[0] && a[3].shape[0] == a[1].shape[0] &&
                 std::equal(a[0].shape.begin() + 2, a[0].shape.end(), a[1].shape.begin() + 2, a[1].shape.end());
        },
    .no_gradient = "a cache outlives the run that writes it, and gradients end with the run"};

}  // namespace hone
