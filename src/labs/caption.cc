#include "labs/caption.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "io/toml.h"

namespace hone {

std::string training_caption(const Json& keys) {
  const auto number = [&](const char* key) { return keys.contains(key) ? json_excerpt(keys.at(key)) : ""; };
  const std::string steps = number("steps"), epochs = number("epochs"), batch = number("batch"),
                    tokens = number("max-length");
  std::string text = !steps.empty() ? steps + " steps" : !epochs.empty() ? epochs + " epochs" : "training";
  if (!batch.empty()) text += fmt::format(" of {} rows{}", batch, steps.empty() ? " a step" : "");
  if (!tokens.empty()) text += fmt::format(", {} tokens each", tokens);
  return text;
}

std::string training_caption(const std::string& path, const std::string& table) {
  Json keys = read_toml_file(path);
  for (const std::string& name : split(table, '.')) {
    if (name.empty()) continue;
    if (!keys.is_object() || !keys.contains(name)) fail("{}: has no table {}", path, table);
    keys = Json(keys.at(name));
  }
  return training_caption(keys);
}

}  // namespace hone
