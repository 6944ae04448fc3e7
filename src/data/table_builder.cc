#include "data/table_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"

namespace hone {
namespace {

std::vector<std::string> numbered_where_empty(std::vector<std::string> columns, const std::string& source) {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].empty()) columns[i] = std::to_string(i + 1);
  for (const std::string& column : columns)
    if (!seen.insert(column).second) fail("{}: two columns are called \"{}\"", source, column);
  return columns;
}

}  // namespace

TableBuilder::TableBuilder(const std::string& source, std::vector<std::string> columns, const DataOptions& options)
    : source_(source),
      columns_(numbered_where_empty(std::move(columns), source)),
      options_(options),
      roles_(find_roles(source, columns_, options)),
      is_used_(columns_.size()),
      classes_(options.classes) {
  for (const auto& role : {roles_.text, roles_.text2, roles_.tokens, roles_.label, roles_.labels, roles_.target,
                           roles_.tags, roles_.group, roles_.split})
    if (role) is_used_[*role] = true;
  if (roles_.label) data_.labels = ClassLabels(), data_.label_column = columns_[*roles_.label];
  if (roles_.labels) data_.labels = MultiLabels(), data_.label_column = columns_[*roles_.labels];
  if (roles_.target) data_.labels = Targets(), data_.label_column = columns_[*roles_.target];
  if (roles_.tags) data_.labels = TokenLabels(), data_.label_column = columns_[*roles_.tags];
  data_.path = source_;
  data_.files = {source_};
}

void TableBuilder::wrong(int64_t line, size_t column, const std::string& what) const {
  fail("{}:{}: column \"{}\": {}", source_, line, columns_[column], what);
}

std::string TableBuilder::text(const Cell& cell, size_t column, int64_t line) const {
  if (cell.is_list) wrong(line, column, "a list; a text is expected");
  return std::string(cell.text);
}

std::vector<std::string> TableBuilder::parts(const Cell& cell) const {
  if (cell.is_list) return cell.parts;
  std::vector<std::string> parts;
  for (std::string_view rest = cell.text; !rest.empty();) {
    const size_t end = rest.find(options_.separator);
    const std::string_view part = trim(rest.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + options_.separator.size());
  }
  return parts;
}

// An empty cell says that the class is not known; it is counted before training, as what is no class is.
int64_t TableBuilder::class_id(std::string_view name) { return name.empty() ? kIgnoredLabel : classes_.id(name); }

void TableBuilder::add_target(const Cell& cell, int64_t line) {
  const std::string_view text = trim(cell.text);
  float value = std::numeric_limits<float>::quiet_NaN();
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (cell.is_list || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      wrong(line, *roles_.target, fmt::format("\"{}\" is no finite number", shortened(text, 40)));
  }
  std::get<Targets>(data_.labels).values.push_back(value);
}

void TableBuilder::add_label(std::span<const Cell> cells, int64_t line) {
  const int64_t row = data_.rows;
  if (roles_.label) {
    auto& labels = std::get<ClassLabels>(data_.labels);
    std::string name = text(cells[*roles_.label], *roles_.label, line);
    labels.ids.push_back(class_id(name));
    if (labels.ids.back() == kIgnoredLabel) labels.unknown.emplace_back(row, std::move(name));
  }
  const auto ids_of = [&](const Cell& cell, auto& labels) {
    std::vector<int64_t> ids;
    for (std::string& name : parts(cell)) {
      ids.push_back(class_id(name));
      if (ids.back() == kIgnoredLabel) labels.unknown.emplace_back(row, std::move(name));
    }
    return ids;
  };
  if (roles_.labels) {
    auto& labels = std::get<MultiLabels>(data_.labels);
    std::vector<int64_t> ids = ids_of(cells[*roles_.labels], labels);
    std::erase(ids, kIgnoredLabel);
    labels.ids.push_back(std::move(ids));
  }
  if (roles_.tags) {
    auto& labels = std::get<TokenLabels>(data_.labels);
    labels.ids.push_back(ids_of(cells[*roles_.tags], labels));
    if (labels.ids.back().size() != data_.words.back().size())
      wrong(line, *roles_.tags,
            fmt::format("{} tags for {} words", labels.ids.back().size(), data_.words.back().size()));
  }
  if (roles_.target) add_target(cells[*roles_.target], line);
}

void TableBuilder::add_split(std::string_view name, int64_t line) {
  if (name.empty()) wrong(line, *roles_.split, "is empty; train, validation or test is expected");
  const std::string known = split_name(name);
  auto found = std::ranges::find(data_.splits, known, &Split::name);
  if (found == data_.splits.end()) found = data_.splits.insert(found, {known, {}});
  found->rows.push_back(data_.rows);
}

void TableBuilder::add(std::span<const Cell> cells, int64_t line) {
  if (cells.size() != columns_.size())
    fail("{}:{}: {} cells, but there are {} columns: {}", source_, line, cells.size(), columns_.size(),
         fmt::join(columns_, ", "));
  if (roles_.text) data_.texts.push_back(text(cells[*roles_.text], *roles_.text, line));
  if (roles_.text2) data_.second_texts.push_back(text(cells[*roles_.text2], *roles_.text2, line));
  if (roles_.tokens) data_.words.push_back(parts(cells[*roles_.tokens]));
  add_label(cells, line);
  if (roles_.group) data_.groups.push_back(groups_.id(text(cells[*roles_.group], *roles_.group, line)));
  if (roles_.split) add_split(text(cells[*roles_.split], *roles_.split, line), line);
  data_.origins.push_back({0, line});
  ++data_.rows;
}

Dataset TableBuilder::finish() {
  const std::vector<int64_t> place = classes_.renumber();
  const auto renumber = [&](std::vector<int64_t>& ids) {
    for (int64_t& id : ids)
      if (id != kIgnoredLabel) id = place[static_cast<size_t>(id)];
  };
  std::visit(
      [&](auto& labels) {
        if constexpr (requires { labels.names; }) labels.names = classes_.names();
      },
      data_.labels);
  if (auto* labels = std::get_if<ClassLabels>(&data_.labels)) renumber(labels->ids);
  if (auto* labels = std::get_if<TokenLabels>(&data_.labels)) std::ranges::for_each(labels->ids, renumber);
  if (auto* labels = std::get_if<MultiLabels>(&data_.labels))
    for (std::vector<int64_t>& ids : labels->ids) {
      renumber(ids);
      std::ranges::sort(ids);
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }
  if (roles_.group) {
    const std::vector<int64_t> group_place = groups_.renumber();
    for (int64_t& id : data_.groups) id = group_place[static_cast<size_t>(id)];
    data_.group_names = groups_.names();
  }
  return std::move(data_);
}

}  // namespace hone
