// What tasks that measure fresh processes are lent (TaskContext::new_process): this program, started as `hone probe`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs/probe.h"

namespace hone {

// `inputs`: --inputs of the folders among the models; `format`: --format of all of them.
std::function<ProbeResult(const ProbeOptions&)> new_processes(const std::vector<std::string>& inputs,
                                                              const std::string& format);

}  // namespace hone
