#include "data/keep_rows.h"

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace hone {
namespace {

// Entries of each row are `width` long.
template <class T>
void keep_entries(std::vector<T>& values, const std::vector<int64_t>& kept, size_t width = 1) {
  if (values.empty()) return;
  size_t at = 0;
  for (int64_t row : kept)  // ascending, so nothing is overwritten before it has moved
    for (size_t i = 0; i < width; ++i, ++at)
      if (const size_t from = static_cast<size_t>(row) * width + i; from != at) values[at] = std::move(values[from]);
  values.resize(at);
}

void keep_labels(std::monostate&, const std::vector<int64_t>&, const std::vector<int64_t>&) {}
void keep_labels(Targets& targets, const std::vector<int64_t>& kept, const std::vector<int64_t>&) {
  keep_entries(targets.values, kept, static_cast<size_t>(targets.width));
}
template <class T>
void keep_labels(T& labels, const std::vector<int64_t>& kept, const std::vector<int64_t>& place) {
  keep_entries(labels.ids, kept);
  if constexpr (requires { labels.ignored; }) keep_entries(labels.ignored, kept);
  std::erase_if(labels.unknown, [&](const auto& each) { return place[static_cast<size_t>(each.first)] < 0; });
  for (auto& [row, text] : labels.unknown) row = place[static_cast<size_t>(row)];
}

Tensor kept_rows(const Tensor& array, const std::vector<int64_t>& kept) {
  std::vector<int64_t> shape = array.shape();
  const size_t bytes = array.data().size() / static_cast<size_t>(shape[0]);
  shape[0] = std::ssize(kept);
  Tensor result(array.dtype(), shape);
  for (size_t i = 0; i < kept.size(); ++i)
    std::ranges::copy(array.data().bytes().subspan(static_cast<size_t>(kept[i]) * bytes, bytes),
                      result.mutable_data() + i * bytes);
  return result;
}

}  // namespace

Dataset keep_rows(Dataset data, const std::vector<bool>& keep) {
  CHECK(std::ssize(keep) == data.rows);
  std::vector<int64_t> kept, place(keep.size(), -1);
  for (size_t row = 0; row < keep.size(); ++row)
    if (keep[row]) {
      place[row] = std::ssize(kept);
      kept.push_back(static_cast<int64_t>(row));
    }
  keep_entries(data.texts, kept);
  keep_entries(data.second_texts, kept);
  keep_entries(data.words, kept);
  keep_entries(data.groups, kept);
  keep_entries(data.origins, kept);
  for (NamedTensor& array : data.arrays) array.tensor = kept_rows(array.tensor, kept);
  std::visit([&](auto& labels) { keep_labels(labels, kept, place); }, data.labels);
  for (Split& split : data.splits) {
    for (int64_t& row : split.rows) row = place[static_cast<size_t>(row)];
    std::erase(split.rows, -1);
  }
  if (data.images)
    data.images.read = [read = std::move(data.images.read), rows = std::make_shared<const std::vector<int64_t>>(kept)](
                           int64_t row) { return read((*rows)[static_cast<size_t>(row)]); };
  data.rows = std::ssize(kept);
  return data;
}

}  // namespace hone
