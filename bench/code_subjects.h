// The fixed list of graphs whose code bench_machine_code and bench_ptx write: every op on its sample calls, layers of
// every packed format and a few networks, with fixed and with open sizes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/pipelines.h"

namespace hone {

// A graph in the form that is lowered, and the sizes of its symbols.
struct Subject {
  std::string name;
  Graph graph;
  Bindings sizes;
};

using MakeSubject = std::function<Subject()>;
std::vector<MakeSubject> subjects(const Pipeline& pipeline = kChannelsLast);

// A subject's or kernel's name as a file's.
inline std::string file_name(std::string place) {
  for (char& c : place)
    if (c == ' ' || c == '/') c = '_';
  return place;
}

}  // namespace hone
