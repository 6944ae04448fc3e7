// The readers' parsers of bytes, for those who have no file: tests and fuzzers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/file_bytes.h"

namespace hone {

// `source` names the bytes in errors and in where rows came from.
Dataset parse_csv(std::string_view bytes, const std::string& source, const DataOptions& options);
Dataset parse_tsv(std::string_view bytes, const std::string& source, const DataOptions& options);
Dataset parse_jsonl(std::string_view bytes, const std::string& source, const DataOptions& options);
Dataset parse_idx(const FileBytes& images, const FileBytes& labels, const std::string& images_source,
                  const std::string& labels_source, const DataOptions& options);

// Records of so many bytes of labels, of which one counts, and the pixels.
Dataset parse_cifar(const FileBytes& file, size_t labels, size_t label, std::span<const std::string> classes,
                    const std::string& source);
Dataset dataset_of_arrays(std::vector<NamedTensor> arrays, const std::string& source, const DataOptions& options);

}  // namespace hone
