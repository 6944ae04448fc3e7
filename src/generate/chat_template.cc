#include "generate/chat_template.h"

#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "generate/jinja/render.h"

namespace hone {

constexpr size_t kMostBytes = size_t{1} << 20;  // of a template; the longest public ones have some 30 KB

struct ChatTemplate::Parsed {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::string_view text, std::string source) : source_(std::move(source)) {
  if (text.size() > kMostBytes)
    fail("{}: the chat template has {} bytes; up to {} are accepted", source_, text.size(), kMostBytes);
  if (!is_valid_utf8(text)) fail("{}: the chat template is no UTF-8", source_);
  try {
    parsed_ = std::make_shared<const Parsed>(Parsed{jinja::parse(text)});
  } catch (const Error& error) {
    fail("{}: chat template, {}", source_, error.what());
  }
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, const Names& names) const {
  Json all = Json::array();
  for (const ChatMessage& each : messages) all.push_back({{"role", each.role}, {"content", each.content}});
  return render(all, names);
}

std::string ChatTemplate::render(const Json& messages, const Names& names) const {
  try {
    jinja::Members given{{"tools", jinja::None{}}, {"documents", jinja::None{}}};  // as transformers has them
    for (const auto& [name, value] : names.more.items()) given.emplace_back(name, jinja::Value::from_json(value));
    given.emplace_back("messages", jinja::Value::from_json(messages));
    given.emplace_back("bos_token", names.begin);
    given.emplace_back("eos_token", names.end);
    given.emplace_back("add_generation_prompt", names.asks);
    return jinja::render(parsed_->body, given, names.now);
  } catch (const Error& error) {
    fail("{}: chat template, {}", source_, error.what());
  }
}

}  // namespace hone
