#include "tests/fuzz/mutate_artefact.h"

#include <cctype>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "tests/fuzz/special_numbers.h"

namespace hone::fuzz {
namespace {

constexpr const char* kTypes[] = {"f32",    "f16",          "bf16",     "f64",      "i8",      "i64",      "i32",
                                  "u8",     "bool",         "string",   "mxint8",   "mxfp4",   "int4.g32", "nvfp4",
                                  "binary", "int8.channel", "f8e4m3fn", "seq(f32)", "opt(f32)"};
constexpr const char* kDtypes[] = {"F32", "F16", "BF16", "F64", "I8", "I64", "I32", "U8", "BOOL", "F8_E4M3"};

// Words, numbers and single other characters, so that the text is the sum of them.
std::vector<std::string> tokens_of(const std::string& text) {
  const auto kind = [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return std::isdigit(u) ? 1 : std::isalpha(u) || c == '_' ? 2 : 0;
  };
  std::vector<std::string> tokens;
  for (char c : text) {
    const int k = kind(c);
    if (!tokens.empty() && k != 0 && (kind(tokens.back()[0]) == k || kind(tokens.back()[0]) == 2)) tokens.back() += c;
    else tokens.emplace_back(1, c);
  }
  return tokens;
}

std::string changed_text(const std::string& text, Philox& random) {
  std::vector<std::string> tokens = tokens_of(text);
  if (tokens.empty()) return text;
  const auto any = [&] { return random.below(static_cast<uint32_t>(tokens.size())); };
  for (uint32_t changes = 1 + random.below(4); changes > 0; --changes) {
    size_t at = any();
    const uint32_t what = random.below(8);
    if (what < 4) {  // the next number becomes another
      for (size_t step = 0; step < tokens.size() && !std::isdigit(static_cast<unsigned char>(tokens[at][0])); ++step)
        at = (at + 1) % tokens.size();
      tokens[at] = std::to_string(special_number(random));
    } else if (what == 4) {
      tokens[at] = kTypes[random.below(std::size(kTypes))];
    } else if (what == 5) {
      tokens[at] = tokens[any()];
    } else if (what == 6) {
      std::swap(tokens[at], tokens[any()]);
    } else {
      tokens[at].clear();
    }
    if (tokens[at].empty()) tokens[at] = " ";
  }
  std::string changed;
  for (const std::string& token : tokens) changed += token;
  return changed;
}

void change_entry(Json& entry, Philox& random) {
  switch (random.below(3)) {
    case 0:
      entry["dtype"] = kDtypes[random.below(std::size(kDtypes))];
      return;
    case 1:
      if (!entry["shape"].empty())
        entry["shape"][random.below(static_cast<uint32_t>(entry["shape"].size()))] = special_number(random);
      else entry["shape"].push_back(special_number(random));
      return;
    default:
      entry["data_offsets"][random.below(2)] = special_number(random);
  }
}

void change_metadata(Json& metadata, Philox& random) {
  auto item = metadata.begin();
  std::advance(item, random.below(static_cast<uint32_t>(metadata.size())));
  if (random.below(2)) item = metadata.find("hone.graph");
  if (item != metadata.end() && item->is_string()) *item = changed_text(item->get<std::string>(), random);
}

void rename_tensor(Json& header, const std::string& name, Philox& random) {
  constexpr const char* kNames[] = {"hone.file.../x", "hone.file./tmp/x", "hone.file.config.json",
                                    "x.codes",        "a\x1b[2J",         ""};
  const Json entry = header[name];
  header.erase(name);
  header[kNames[random.below(std::size(kNames))]] = entry;
}

}  // namespace

std::string mutated_artefact(std::string_view file, Philox& random) {
  uint64_t length = 0;
  if (file.size() < 10) return std::string(file);
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8) return std::string(file);
  Json header;
  try {
    header = parse_json(file.substr(8, length), "seed");
  } catch (const Error&) {
    return std::string(file);
  }
  if (!header.is_object() || header.empty()) return std::string(file);
  auto entry = header.begin();
  std::advance(entry, random.below(static_cast<uint32_t>(header.size())));
  const std::string name = entry.key();
  const bool has_text = header.contains("__metadata__") && !header["__metadata__"].empty();
  if (has_text && (name == "__metadata__" || random.below(4) > 0)) change_metadata(header["__metadata__"], random);
  else if (entry->is_object() && random.below(4) > 0 && entry->contains("shape") && entry->contains("data_offsets"))
    change_entry(*entry, random);
  else if (name != "__metadata__") rename_tensor(header, name, random);
  const std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto size = static_cast<uint64_t>(text.size());
  std::string changed(8, '\0');
  std::memcpy(changed.data(), &size, 8);
  return changed + text + std::string(file.substr(8 + length));
}

}  // namespace hone::fuzz
