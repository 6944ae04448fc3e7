#include "cli/new_process.h"

#include <filesystem>

namespace hone {

std::function<ProbeResult(const ProbeOptions&)> new_processes(const std::vector<std::string>& inputs,
                                                              const std::string& format) {
  return [inputs, format](ProbeOptions probe) {
    probe.format = format;
    if (std::filesystem::is_directory(probe.model)) probe.inputs = inputs;
    return probe_in_new_process(this_program(), probe);
  };
}

}  // namespace hone
