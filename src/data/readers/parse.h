// The readers' parsers of bytes, for those who have no file: tests and fuzzers.
#pragma once

#include <string>
#include <string_view>

#include "data/data_options.h"
#include "data/dataset.h"

namespace hone {

// `source` names the bytes in errors and in where rows came from.
Dataset parse_csv(std::string_view bytes, const std::string& source, const DataOptions& options);
Dataset parse_tsv(std::string_view bytes, const std::string& source, const DataOptions& options);
Dataset parse_jsonl(std::string_view bytes, const std::string& source, const DataOptions& options);

}  // namespace hone
