// The Python package's options and tasks, written from the same tables as the structs of include/hone: keywords, their
// defaults and docs.
#pragma once

#include <string>
#include <vector>

#include "api/generate/header.h"
#include "api/generate/options.h"

namespace hone::generate {

// A function of include/hone that takes a value, options and a Task.
struct TaskFunction {
  std::string name, result, header;  // "quantize", "QuantizeResult", "quantize.h"
  std::string value;                 // the first argument's type: "const Model&"
  std::string options;               // "QuantizeOptions"
  std::vector<std::string> doc;      // lines
};

// Those that a header declares.
std::vector<TaskFunction> task_functions(const Header& header);

// A struct of include/hone that holds what a task found, or what is known of something.
struct ResultStruct {
  struct Member {
    std::string name, doc;
  };
  std::string name, header, doc;
  std::vector<Member> members;
};

// Those that a header has: all structs but options, and what the package shows as objects of its own.
std::vector<ResultStruct> result_structs(const Header& header);

// python/src/generated/structs.cc: a class for each, whose attributes are the members.
std::string python_structs(const std::vector<ResultStruct>& structs);

// python/src/generated/options.cc: options_of() of each struct (python/src/options.h).
std::string python_options(const std::vector<OptionStruct>& structs);

// python/src/generated/tasks.cc: each task under its name with an underscore before it.
std::string python_bindings(const std::vector<TaskFunction>& tasks);

// python/hone/_tasks.py: compile(), run() and a function a task, whose keywords are the options.
std::string python_tasks(const std::vector<TaskFunction>& tasks, const std::vector<OptionStruct>& structs);

// python/hone/_results.py: the names of the structs.
std::string python_results(const std::vector<ResultStruct>& structs);

}  // namespace hone::generate
