// JSON Lines: each line is an object whose keys are the columns; those of the first line are what there is. Lists of
// texts or numbers are words, tags or classes. null is an empty cell. Empty lines are passed over.
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "data/table_builder.h"
#include "data/text_lines.h"

namespace hone {
namespace {

std::string text_of(const Json& value, const std::string& column, const std::string& where) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_primitive()) return value.dump();
  fail("{}: \"{}\" holds {}; a text, a number or a list of them is expected", where, column, json_excerpt(value));
}

// A row's cells and the texts that they look at.
struct Row {
  std::vector<Cell> cells;
  std::vector<std::string> texts;
};

void fill(Row& row, const Json& object, const TableBuilder& builder, const std::string& where) {
  const auto columns = builder.columns();
  row.cells.resize(columns.size());
  row.texts.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!builder.uses(i)) continue;
    const auto found = object.find(columns[i]);
    if (found == object.end()) fail("{}: has no \"{}\", which the first line has", where, columns[i]);
    Cell& cell = row.cells[i];
    cell.is_list = found->is_array();
    cell.parts.clear();
    if (cell.is_list)
      for (const Json& part : *found) cell.parts.push_back(text_of(part, columns[i], where));
    else row.texts[i] = text_of(*found, columns[i], where);
    cell.text = row.texts[i];
  }
}

bool recognises(const std::string& path) { return path.ends_with(".jsonl") || path.ends_with(".ndjson"); }

Dataset read(const std::string& path, const DataOptions& options) {
  const MappedFile file(path);
  return parse_jsonl({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path, options);
}

}  // namespace

Dataset parse_jsonl(std::string_view bytes, const std::string& source, const DataOptions& options) {
  TextLines lines(checked_text(bytes, source), source);
  std::optional<TableBuilder> builder;
  Row row;
  while (const auto line = lines.next()) {
    if (trim(*line).empty()) continue;
    const std::string where = fmt::format("{}:{}", source, lines.number());
    const Json object = parse_json(*line, where);
    if (!object.is_object()) fail("{}: holds {}; an object is expected", where, json_excerpt(object));
    if (!builder) {
      std::vector<std::string> columns;
      for (const auto& item : object.items()) columns.push_back(item.key());
      builder.emplace(source, std::move(columns), options);
    }
    fill(row, object, *builder, where);
    builder->add(row.cells, lines.number());
  }
  if (!builder) fail("{}: is empty; a JSON object a line is expected", source);
  return builder->finish();
}

extern constinit const ReaderDef jsonl_def{.name = "jsonl",
                                           .doc = "a JSON object a line, whose keys are the columns",
                                           .example = "ner.jsonl",
                                           .options = kTableOptions,
                                           .recognises = recognises,
                                           .read = read};

}  // namespace hone
