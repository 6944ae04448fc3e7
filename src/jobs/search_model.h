// hone search: candidates of a space, each built, trained, compressed and measured as the file that it becomes, by
// studies that can be stopped and gone on with.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "jobs/progress.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct SearchModelOptions {
  Json tree = Json::object();   // search_config.h
  Json flags = Json::object();  // keys that win over the tree, and over its studies
  std::string source;           // of the tree, for errors
  std::string storage = "memory", study;
  std::string output;  // the best model; a folder where several are best
  int64_t workers = 1;
  bool resume = false;             // go on with studies of these names, where there are some
  std::optional<int64_t> rebuild;  // nothing is searched: the candidate of this trial is made again, as `output`
  SessionOptions session;
  std::string command;
  Progress progress = {};
  std::function<void(const std::string& line)> say = {};  // what one should know before, and when it is stopped
};

// Findings, tables and plots of the studies (search_record.h). Throws Error before anything is trained: for keys,
// values and parameters that are not known or not possible, a grid that is too large, a budget that nothing meets, and
// a study that is of another model, data, objective or space.
Record search_model(const SearchModelOptions& options);

}  // namespace hone
