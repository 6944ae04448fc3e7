// A reader in one file: the lines of fastText's classifiers, "__label__<class> <text>".
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/reader.h"
#include "data/table_builder.h"
#include "data/text_lines.h"

namespace hone {
namespace {

constexpr std::string_view kMark = "__label__";

bool recognises(const std::string& path) { return path.ends_with(".ft"); }

Dataset read(const std::string& path, const DataOptions& options) {
  const MappedFile file(path);
  TextLines lines(checked_text({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path), path);
  TableBuilder builder(path, {"label", "text"}, options);
  while (const auto line = lines.next()) {
    const size_t end = line->find(' ');
    if (!line->starts_with(kMark) || end == std::string_view::npos)
      fail("{}:{}: expected {}<class>, a blank and a text", path, lines.number(), kMark);
    const Cell cells[] = {{line->substr(kMark.size(), end - kMark.size()), {}}, {trim(line->substr(end)), {}}};
    builder.add(cells, lines.number());
  }
  return builder.finish();
}

constexpr const char* kOptions[] = {"classes"};

}  // namespace

extern constinit const ReaderDef fasttext_def{.name = "fasttext",
                                              .doc = "fastText's lines: __label__<class>, a blank, a text",
                                              .example = "train.ft",
                                              .options = kOptions,
                                              .recognises = recognises,
                                              .read = read};

}  // namespace hone
