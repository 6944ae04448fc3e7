// Called by jobs that take long with what they do next ("timing"). The library itself prints nothing.
#pragma once

#include <functional>
#include <string>

namespace hone {

using Progress = std::function<void(const std::string& next)>;

inline void tell(const Progress& progress, const std::string& next) {
  if (progress) progress(next);
}

}  // namespace hone
