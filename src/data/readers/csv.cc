// Comma-separated values (base/csv.h).
#include <array>
#include <optional>

#include "base/csv.h"
#include "base/mapped_file.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "data/table_builder.h"
#include "data/table_columns.h"
#include "data/text_lines.h"

namespace hone {
namespace {

constexpr std::array kOptions = table_options("no-header");

bool recognises(const std::string& path) { return path.ends_with(".csv"); }

Dataset read(const std::string& path, const DataOptions& options) {
  const MappedFile file(path);
  return parse_csv({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path, options);
}

}  // namespace

Dataset parse_csv(std::string_view bytes, const std::string& source, const DataOptions& options) {
  CsvReader rows(checked_text(bytes, source), source, kMostLineBytes);
  return build_table(source, options, [&](std::vector<std::string>& cells) -> std::optional<int64_t> {
    if (!rows.next(cells)) return std::nullopt;
    return rows.line();
  });
}

extern constinit const ReaderDef csv_def{.name = "csv",
                                         .doc = "comma-separated values (RFC 4180), the first line names the columns",
                                         .example = "reviews.csv",
                                         .options = kOptions,
                                         .recognises = recognises,
                                         .read = read};

}  // namespace hone
