// A conversation as the text that a model was trained on: the chat template that came with it (docs/generate.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hone {

struct ChatMessage {
  std::string role, content;  // "system", "user", "assistant"
};

class ChatTemplate {
 public:
  // `source` begins every error. Throws Error, with the line, for what the template has and hone does not know.
  ChatTemplate(std::string_view text, std::string source);

  struct Names {
    std::string begin, end;      // bos_token and eos_token
    bool asks = true;            // add_generation_prompt: the text ends where the answer begins
    int64_t now = 0;             // seconds since 1970, for templates that name the day; shown in UTC
    Json more = Json::object();  // further names: tools, enable_thinking, …
  };
  // Throws Error: what the template refuses (raise_exception), what is undefined, and beyond limits of steps, depth and
  // text.
  std::string render(const std::vector<ChatMessage>& messages, const Names& names) const;
  // Messages as JSON: with contents in parts, tool calls and what else a template reads.
  std::string render(const Json& messages, const Names& names) const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
  std::string source_;
};

}  // namespace hone
