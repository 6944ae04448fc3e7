#include "data/table_columns.h"

#include "base/error.h"

namespace hone {

Dataset build_table(const std::string& source, const DataOptions& options,
                    const std::function<std::optional<int64_t>(std::vector<std::string>& cells)>& next) {
  std::vector<std::string> texts;
  std::optional<int64_t> line = next(texts);
  if (!line) fail("{}: is empty; {} expected", source, options.no_header ? "rows are" : "a line of column names is");
  std::vector<std::string> columns = texts;
  if (options.no_header)
    for (size_t i = 0; i < columns.size(); ++i) columns[i] = std::to_string(i + 1);
  TableBuilder builder(source, std::move(columns), options);
  if (!options.no_header) line = next(texts);
  std::vector<Cell> cells;
  for (; line; line = next(texts)) {
    cells.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) cells[i].text = texts[i];
    builder.add(cells, *line);
  }
  return builder.finish();
}

}  // namespace hone
