#include "ops/page_rows.h"

#include <algorithm>

#include "base/error.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {

int64_t PageRows::at(int64_t i) const {
  const int64_t sequence = i / new_rows, position = lengths[static_cast<size_t>(sequence)] + i % new_rows,
                columns = std::ssize(table) / std::ssize(lengths);
  return table[static_cast<size_t>(sequence * columns + position / page_rows)] * page_rows + position % page_rows;
}

std::string PageRows::fault() const {
  if (count() == 0) return "";
  const int64_t columns = std::ssize(table) / std::ssize(lengths), room = columns * page_rows;
  struct Written {
    int64_t page, first, last, sequence;
  };
  std::vector<Written> written;
  for (int64_t b = 0; b < std::ssize(lengths); ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0) return fmt::format("sequence {} has a length of {}", b, length);
    if (length > room - new_rows)
      return fmt::format("sequence {} has {} rows, and {} more don't fit its {} pages of {}; grow the page table first",
                         b, length, new_rows, columns, page_rows);
    for (int64_t column = length / page_rows; column <= (length + new_rows - 1) / page_rows; ++column) {
      const int64_t page = table[static_cast<size_t>(b * columns + column)];
      if (page < 0 || page >= pages)
        return fmt::format("page {} of sequence {} is {} in the page table; there are {} pages", column, b, page,
                           pages);
      const int64_t begin = column * page_rows;
      written.push_back(
          {page, std::max(length, begin) - begin, std::min(length + new_rows, begin + page_rows) - begin - 1, b});
    }
  }
  std::ranges::sort(written, {}, [](const Written& w) { return std::pair(w.page, w.first); });
  for (size_t i = 1; i < written.size(); ++i)
    if (const Written& before = written[i - 1], &now = written[i]; before.page == now.page && now.first <= before.last)
      return fmt::format("sequences {} and {} both write row {} of page {}", before.sequence, now.sequence, now.first,
                         now.page);
  return "";
}

void expect_rows_alone(const Format& format) {
  const Geometry& g = format.geometry;
  const bool by_groups = g.kind == Geometry::Kind::group && g.axis == -1;
  if ((by_groups || (g.kind == Geometry::Kind::none && format.element.bits % 8 == 0)) &&
      scales_per_group(format) <= 1 && !format.scale_kind->global && !is_two_level(format))
    return;
  fail("{} has scales that rows share; accepted: groups along the last axis, e.g. mxint8", to_string(format));
}

}  // namespace hone
