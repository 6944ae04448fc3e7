// Tab-separated values as GLUE has them: a line is a row, a tab ends a cell, and quotes are characters like others.
// Empty lines are passed over.
#include <array>
#include <optional>

#include "base/mapped_file.h"
#include "base/text.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "data/table_builder.h"
#include "data/table_columns.h"
#include "data/text_lines.h"

namespace hone {
namespace {

constexpr std::array kOptions = table_options("no-header");

bool recognises(const std::string& path) { return path.ends_with(".tsv"); }

Dataset read(const std::string& path, const DataOptions& options) {
  const MappedFile file(path);
  return parse_tsv({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path, options);
}

}  // namespace

Dataset parse_tsv(std::string_view bytes, const std::string& source, const DataOptions& options) {
  TextLines lines(checked_text(bytes, source), source);
  return build_table(source, options, [&](std::vector<std::string>& cells) -> std::optional<int64_t> {
    while (const auto line = lines.next())
      if (!line->empty()) {
        cells = split(*line, '\t');
        return lines.number();
      }
    return std::nullopt;
  });
}

extern constinit const ReaderDef tsv_def{
    .name = "tsv",
    .doc = "tab-separated values without quoting, the first line names the columns",
    .example = "sst2/train.tsv",
    .options = kOptions,
    .recognises = recognises,
    .read = read};

}  // namespace hone
