// A GGUF file of a decoder in the terms of Hugging Face's folders: the configuration that a family is built from, and
// its tensors under the names and in the order that the family asks for. So a family has one definition, whatever file
// its weights are in (docs/gguf.md).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf/gguf_file.h"
#include "models/registry.h"

namespace hone {

// Key of a graph's metadata: which of the file's types have no format and became a wider one, as "3 IQ2_XS as int7.g16,
// 9 bits a weight for 2.31". Absent: none.
inline constexpr char kWidened[] = "gguf.widened";

// What general.architecture names.
struct GgufArchitecture {
  std::string_view name;
  const char* model;  // of "architectures" in config.json
  // Rows of queries and keys alternate between the halves of a head, for rotary positions that turn neighbors.
  bool alternates_halves = false;
  // Norms on both sides of each part, whose weights have the 1 in them that a folder's lack; windows in some layers.
  bool is_gemma = false;
};

// Error that names the known ones.
const GgufArchitecture& gguf_architecture(const GgufFile& file);

// Error for metadata of the architecture that say something and are not followed, and for sizes that contradict each
// other.
Json config_of_gguf(const GgufFile& file, const GgufArchitecture& architecture);

class GgufWeights {
 public:
  // `config` as config_of_gguf gives it. All must outlive this.
  GgufWeights(const GgufFile& file, const GgufArchitecture& architecture, const Json& config);

  // By the name in a folder; Error where it is missing or has another shape.
  Tensor tensor(const std::string& name, const std::vector<int64_t>& shape);
  const std::map<std::string, std::string>& stored_names() const { return stored_names_; }  // of what was asked for
  // Error that names tensors which nobody asked for: they would change what is computed.
  void check_complete() const;
  std::string widened() const;  // of kWidened; "" for none

 private:
  std::vector<int64_t> row_order(const std::string& name) const;  // empty: as they lie

  const GgufFile& file_;
  const GgufArchitecture& architecture_;
  const Json& config_;
  std::map<std::string, std::string> stored_names_;
};

}  // namespace hone
