#include "data/append_rows.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "data/class_table.h"

namespace hone {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void renumber(std::vector<int64_t>& ids, const std::vector<int64_t>& numbers) {
  for (int64_t& id : ids)
    if (id != kIgnoredLabel) id = numbers[static_cast<size_t>(id)];
}
void renumber(std::vector<std::vector<int64_t>>& rows, const std::vector<int64_t>& numbers) {
  for (std::vector<int64_t>& ids : rows) renumber(ids, numbers);
}

void append_labels(std::monostate&, std::monostate&, int64_t) {}
void append_labels(Targets& to, Targets& from, int64_t) { append(to.values, from.values); }
template <class T>
void append_labels(T& to, T& from, int64_t rows) {
  if (to.names != from.names) {
    ClassTable table;
    std::vector<int64_t> first, second;
    for (const std::string& name : to.names) first.push_back(table.id(name));
    for (const std::string& name : from.names) second.push_back(table.id(name));
    const std::vector<int64_t> place = table.renumber();
    renumber(first, place);
    renumber(second, place);
    renumber(to.ids, first);
    renumber(from.ids, second);
    if constexpr (requires { to.ignored; }) renumber(to.ignored, first), renumber(from.ignored, second);
    to.names = table.names();
  }
  if constexpr (requires { to.ignored; })
    if (!to.ignored.empty() || !from.ignored.empty()) {
      to.ignored.resize(to.ids.size()), from.ignored.resize(from.ids.size());
      append(to.ignored, from.ignored);
    }
  for (auto& [row, text] : from.unknown) row += rows;
  append(to.ids, from.ids);
  append(to.unknown, from.unknown);
}

void append_groups(Dataset& data, Dataset& more) {
  ClassTable table;
  for (const std::string& name : data.group_names) table.id(name);
  std::vector<int64_t> numbers;
  for (const std::string& name : more.group_names) numbers.push_back(table.id(name));
  renumber(more.groups, numbers);
  append(data.groups, more.groups);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] >= std::ssize(data.group_names)) data.group_names.push_back(more.group_names[i]);
}

void append_array(NamedTensor& to, const NamedTensor& from, const Dataset& more) {
  const auto same_rows = [](const Tensor& a, const Tensor& b) {
    return std::ranges::equal(a.shape().begin() + 1, a.shape().end(), b.shape().begin() + 1, b.shape().end());
  };
  if (to.tensor.dtype() != from.tensor.dtype() || to.tensor.shape().size() != from.tensor.shape().size() ||
      !same_rows(to.tensor, from.tensor))
    fail("{}: array \"{}\" is {}, and {} before", more.path, from.name, to_string(from.tensor.type()),
         to_string(to.tensor.type()));
  std::vector<int64_t> shape = to.tensor.shape();
  shape[0] += from.tensor.dim(0);
  Tensor joined(to.tensor.dtype(), shape);
  const auto first = to.tensor.data().bytes(), second = from.tensor.data().bytes();
  std::byte* bytes = joined.mutable_data();
  std::ranges::copy(second, std::ranges::copy(first, bytes).out);
  to.tensor = std::move(joined);
}

void append_arrays(Dataset& data, const Dataset& more) {
  for (const NamedTensor& array : more.arrays) {
    const auto found = std::ranges::find(data.arrays, array.name, &NamedTensor::name);
    if (found == data.arrays.end()) fail("{}: has an array \"{}\", which {} lacks", more.path, array.name, data.path);
    append_array(*found, array, more);
  }
  for (const NamedTensor& array : data.arrays)
    if (std::ranges::find(more.arrays, array.name, &NamedTensor::name) == more.arrays.end())
      fail("{}: has no array \"{}\", which {} has", more.path, array.name, data.path);
}

void append_images(Dataset& data, Dataset& more) {
  if (data.images.channels != more.images.channels)
    fail("{}: images have {} channels, and {} before", more.path, more.images.channels, data.images.channels);
  if (!data.images) return;
  data.images.read = [first = std::move(data.images.read), second = std::move(more.images.read),
                      rows = data.rows](int64_t row) { return row < rows ? first(row) : second(row - rows); };
}

void check_columns(const Dataset& data, const Dataset& more) {
  const auto check = [&](bool first, bool second, const char* what) {
    if (first != second)
      fail("{}: has {}{}, and {} has {}", more.path, second ? "" : "no ", what, data.path, first ? "such" : "none");
  };
  check(!data.texts.empty(), !more.texts.empty(), "texts");
  check(!data.second_texts.empty(), !more.second_texts.empty(), "second texts");
  check(!data.words.empty(), !more.words.empty(), "words");
  check(bool(data.images), bool(more.images), "images");
  check(!data.groups.empty(), !more.groups.empty(), "groups");
  if (data.labels.index() != more.labels.index())
    fail("{}: its labels are {}, and those of {} are {}", more.path, kind_of(more.labels), data.path,
         kind_of(data.labels));
  const auto* targets = std::get_if<Targets>(&data.labels);
  if (targets && targets->width != std::get<Targets>(more.labels).width)
    fail("{}: has {} numbers to predict, and {} has {}", more.path, std::get<Targets>(more.labels).width, data.path,
         targets->width);
}

}  // namespace

void append_rows(Dataset& data, Dataset more) {
  if (more.rows == 0) return;
  check_columns(data, more);
  append_arrays(data, more);
  append_images(data, more);
  append(data.texts, more.texts);
  append(data.second_texts, more.second_texts);
  append(data.words, more.words);
  std::visit([&](auto& to) { append_labels(to, std::get<std::remove_cvref_t<decltype(to)>>(more.labels), data.rows); },
             data.labels);
  append_groups(data, more);
  for (Split& split : more.splits) {
    for (int64_t& row : split.rows) row += data.rows;
    const auto found = std::ranges::find(data.splits, split.name, &Split::name);
    if (found == data.splits.end()) data.splits.push_back(std::move(split));
    else append(found->rows, split.rows);
  }
  for (RowOrigin& origin : more.origins) origin.file += static_cast<int32_t>(data.files.size());
  append(data.files, more.files);
  append(data.origins, more.origins);
  data.rows += more.rows;
}

}  // namespace hone
