#include "views/conditions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/threads.h"

namespace hone {

ManifestEntry input_entry(const FileFacts& file) { return {"input", file.path, file.sha256, file.bytes}; }

ManifestEntry output_entry(const FileFacts& file) { return {"output", file.path, file.sha256, file.bytes}; }

KeyValues conditions_block(const RunConditions& conditions) {
  const NumberStyle count{NumberFormat::integer, 0};
  KeyValues block{.key = "conditions",
                  .title = "",
                  .items = {{"isa", "instruction set", conditions.isa},
                            {"threads", "threads", number(conditions.threads), "", count},
                            {"cpus", "CPUs usable", number(conditions.cpus), "", count}}};
  for (const auto& [symbol, size] : conditions.sizes)
    block.items.push_back({"dim_" + symbol, "dimension " + symbol, number(static_cast<double>(size)), "", count});
  return block;
}

std::vector<std::string> oversubscription(const RunConditions& conditions) {
  const auto& [isa, threads, cpus, sizes] = conditions;
  if (threads <= cpus) return {};
  return {
      fmt::format("OVERSUBSCRIBED: {} threads share {} CPU{}; hone uses {} of them, and figures with fewer threads "
                  "say more.",
                  threads, cpus, cpus == 1 ? "" : "s", std::min(threads, hardware_threads()))};
}

}  // namespace hone
