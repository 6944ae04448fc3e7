// A program as several ranks of Open MPI, from Debian's package openmpi-bin.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

namespace hone {

inline const char* mpirun_path() { return "/usr/bin/mpirun"; }
inline bool has_mpirun() { return ::access(mpirun_path(), X_OK) == 0; }

// What mpirun is given: more ranks than there are CPUs, and by root where the tests run as that.
inline std::vector<std::string> mpirun_arguments(int ranks, const std::string& program,
                                                 const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)};
  if (::geteuid() == 0) all.emplace_back("--allow-run-as-root");
  all.push_back(program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace hone
