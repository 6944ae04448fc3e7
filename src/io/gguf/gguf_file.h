// A model in a GGUF file or in shards of one (NAME-00001-of-00003.gguf): what its header says, and its tensors by name.
// Opening maps the files; a tensor's bytes are touched when it is asked for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "io/gguf/gguf_header.h"
#include "ir/tensor.h"

namespace hone {

class GgufFile {
 public:
  // Of shards any one's path, all of which must lie beside it. Throws Error naming file, key or tensor, and what was
  // found.
  explicit GgufFile(const std::string& path);
  GgufFile(GgufFile&&) = default;  // a copy would refer to what this one holds
  GgufFile& operator=(GgufFile&&) = default;

  const std::string& path() const { return path_; }
  std::vector<std::string> paths() const;  // of all shards
  const GgufMetadata& metadata() const { return headers_.front().metadata; }
  std::string architecture() const { return metadata().text("general.architecture"); }

  // In the order of the files.
  std::vector<const GgufEntry*> entries() const;
  const GgufEntry* find(std::string_view name) const;  // nullptr when absent

  // Plain types share the mapping; blocks become planes of a packed format, which are a copy, and the file's pages are
  // given back. Throws Error with the nearest names when absent, or the reason where its type is not read.
  Tensor tensor(std::string_view name) const;
  // Rows in another order, which names each once: row i is row `order[i]` of the file; without an order as they lie.
  Tensor tensor(std::string_view name, std::span<const int64_t> order) const;

 private:
  struct Place {
    size_t file;
    const GgufEntry* entry;
  };
  void open(const std::string& path);
  void open_shards();
  void index_tensors();
  float global_scale(std::string_view name) const;

  std::string path_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<GgufHeader> headers_;  // of the files, in the order of their numbers
  std::map<std::string_view, Place, std::less<>> places_;
};

// Of the tensor that holds the global scale of a tensor in NVFP4.
std::string global_scale_name(std::string_view name);

bool is_gguf_path(std::string_view path);  // by its ending

}  // namespace hone
