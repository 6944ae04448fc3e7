#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/registry.h"

namespace hone {

const TokenizerDef& tokenizer_kind(const Json& root, const std::string& source) {
  for (const TokenizerDef* def : tokenizers::all())
    if (def->recognises(root)) return *def;
  const Json& model = member(root, "model");
  std::vector<std::string> names;
  for (const TokenizerDef* def : tokenizers::all()) names.push_back(fmt::format("{} ({})", def->name, def->doc));
  fail("{}: model \"{}\" is not supported; supported: {}", source,
       get_or<std::string>(model, "type", "of no type", source), fmt::join(names, "; "));
}

TokenizerJson convert_tokenizer_files(const NamedFiles& files, const TokenizerSettings& settings,
                                      const std::string& source) {
  for (const TokenizerDef* def : tokenizers::all())
    if (def->reads && def->reads(files)) return def->convert(files, settings, source);
  fail("{}: has no tokenizer that hone reads: {}", source, kTokenizerSetNames);
}

std::string tokenizer_json_of(const NamedFiles& files, const std::string& source) {
  return write_tokenizer_json(convert_tokenizer_files(files, read_tokenizer_settings(files, source), source));
}

}  // namespace hone
