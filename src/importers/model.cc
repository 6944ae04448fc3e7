#include "importers/model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "io/tokenizer_files.h"

namespace hone {
namespace {

bool is_of_tokenizer(const std::string& name) {
  for (const auto& [first, second] : kTokenizerSets)
    if (name == first || (second && name == second)) return true;
  return std::ranges::any_of(kTokenizerSettings, [&](const char* settings) { return name == settings; });
}

}  // namespace

NamedFiles ModelFiles::tokenizer() const {
  NamedFiles found;
  if (!has_tokenizer(*this)) return found;
  for (const auto& [name, content] : *this)
    if (is_of_tokenizer(name)) found.emplace(name, content);
  return found;
}

NamedFiles ModelFiles::others() const {
  NamedFiles found;
  for (const auto& [name, content] : *this)
    if (name != kConfigFile && !is_of_tokenizer(name)) found.emplace(name, content);
  return found;
}

Json ModelFiles::config(const std::string& source) const {
  const auto found = find(kConfigFile);
  return found == end() ? Json() : parse_json(found->second, source + ": " + kConfigFile);
}

std::string Provenance::sha256() const {
  if (weight_files.size() == 1) return sha256_of_file(weight_files[0]);
  Sha256 all;
  for (const std::string& file : weight_files) all.update(sha256_of_file(file));
  return all.hex();
}

bool Provenance::is_folder() const { return std::filesystem::is_directory(path); }

}  // namespace hone
