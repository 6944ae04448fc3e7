#include "jobs/open_session.h"

#include <fmt/format.h>

#include "base/log.h"

namespace hone {

Session open_session(Model model, SessionOptions options) {
  const bool compiles = options.compiles();
  if (!options.model_code && compiles && !model.objects.empty())
    log(LogLevel::note,
        fmt::format("{}: the machine code in it is left aside, since it is a program; --trust-code runs it",
                    model.path));
  if (options.model_code)
    for (auto& [name, content] : model.objects) options.bundled.push_back(std::move(content));
  return Session(std::move(model.graph), std::move(options));
}

void require_training(const SessionOptions& options) {
  if (!options.device) return;
  if (const std::string why = options.device->why_no_training(); !why.empty()) fail("{}", why);
}

}  // namespace hone
