// A kind of tokenizer: how pieces of text become tokens, and the files that say so. To add one is to add a file to
// kinds/ with a TokenizerDef.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "tokenizers/token_model.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_settings.h"

namespace hone {

// Contents by name.
using NamedFiles = std::map<std::string, std::string>;

struct TokenizerDef {
  const char* name;
  const char* doc;

  // By the root of a tokenizer.json, which may lack what it should have. At most one kind may say yes.
  bool (*recognises)(const Json& root);
  // Throws Error for keys of the model that are not known, and where vocabulary, merges and scores do not go together.
  std::shared_ptr<const TokenModel> (*read)(const TokenizerJson& json, const std::string& source);

  // Folders without a tokenizer.json; nullptr: the kind has no older files. `reads` is whether they are of this kind.
  bool (*reads)(const NamedFiles& files) = nullptr;
  // What a tokenizer.json would say, which may be of another kind. Throws Error that names `source`, the file and what
  // is wrong.
  TokenizerJson (*convert)(const NamedFiles& files, const TokenizerSettings& settings,
                           const std::string& source) = nullptr;
};

// The kind of a tokenizer.json. Throws Error that lists the kinds when there is none.
const TokenizerDef& tokenizer_kind(const Json& root, const std::string& source);

// A tokenizer.json made of older files: the only one of the kinds that reads them. Throws Error where none does.
TokenizerJson convert_tokenizer_files(const NamedFiles& files, const TokenizerSettings& settings,
                                      const std::string& source);

// The tokenizer.json that a folder's files stand for.
std::string tokenizer_json_of(const NamedFiles& files, const std::string& source);

}  // namespace hone
