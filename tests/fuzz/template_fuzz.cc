// Bytes as a chat template, rendered over a conversation with tools.
#include <string_view>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/utf8.h"
#include "generate/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  set_memory_limit(memory_charged() + (256 << 20));
  const Json messages = {
      {{"role", "system"}, {"content", "Be brief."}},
      {{"role", "user"}, {"content", " Grüße "}},
      {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {{{"name", "f"}, {"arguments", {{"x", 1.5}}}}}}},
      {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "a"}}}}}};
  try {
    const ChatTemplate chat({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string text =
        chat.render(messages, {.begin = "<s>", .end = "</s>", .more = {{"tools", {{{"name", "f"}}}}}});
    if (!is_valid_utf8(text)) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
