// generate_api ROOT [--check]: writes what follows from other texts of the repository at ROOT: the structs of options
// in include/hone, src/api/given_options.cc, docs/api/ and the Python package's tasks. With --check nothing is written;
// what would change, and names that nobody documented, are faults.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "api/generate/header.h"
#include "api/generate/options.h"
#include "api/generate/python.h"
#include "base/atomic_file.h"

namespace hone::generate {
namespace {

namespace fs = std::filesystem;

class Texts {
 public:
  explicit Texts(bool only_check) : only_check_(only_check) {}

  void put(const std::string& path, const std::string& text) {
    const std::string before = fs::exists(path) ? read_file(path) : "";
    if (before == text) return;
    if (only_check_) return fault(path + ": is not what generate_api writes; run it");
    fs::create_directories(fs::path(path).parent_path());
    write_file(path, text);
  }
  void fault(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    ++faults_;
  }
  int faults() const { return faults_; }

 private:
  bool only_check_;
  int faults_ = 0;
};

constexpr size_t kMostLines = 300;  // of a header

int generate(const std::string& root, bool only_check) {
  Texts texts(only_check);
  const std::vector<OptionStruct> structs = option_structs();
  std::vector<fs::path> headers;
  for (const auto& entry : fs::directory_iterator(root + "/include/hone")) headers.push_back(entry.path());
  std::ranges::sort(headers);
  std::vector<TaskFunction> tasks;
  std::vector<ResultStruct> results;
  std::string index = "# The installed API\n\nOne page a header of include/hone, written by generate_api.\n\n";
  for (const fs::path& path : headers) {
    const std::string before = read_file(path.string()), text = with_options(before, structs);
    texts.put(path.string(), text);
    if (std::ranges::count(text, '\n') > static_cast<std::ptrdiff_t>(kMostLines))
      texts.fault(fmt::format("{}: has more than {} lines", path.string(), kMostLines));
    const Header header = read_header(path.string());
    for (const std::string& name : undocumented(header)) texts.fault(name + ": nothing says what it is");
    for (TaskFunction& task : task_functions(header)) tasks.push_back(std::move(task));
    for (ResultStruct& result : result_structs(header)) results.push_back(std::move(result));
    const std::string stem = path.stem().string();
    texts.put(fmt::format("{}/docs/api/{}.md", root, stem == "hone" ? "c" : stem), markdown(header));
    index += fmt::format("* [hone/{}]({}.md): {}\n", header.name, stem == "hone" ? "c" : stem,
                         header.intro.empty() ? "" : header.intro[0]);
  }
  texts.put(root + "/docs/api/README.md", index);
  texts.put(root + "/src/api/given_options.cc", given_options(structs));
  texts.put(root + "/python/src/generated/options.cc", python_options(structs));
  texts.put(root + "/python/src/generated/tasks.cc", python_bindings(tasks));
  texts.put(root + "/python/src/generated/structs.cc", python_structs(results));
  texts.put(root + "/python/hone/_results.py", python_results(results));
  texts.put(root + "/python/hone/_tasks.py", python_tasks(tasks, structs));
  return texts.faults() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hone::generate

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: generate_api ROOT [--check]\n");
    return 2;
  }
  return hone::generate::generate(argv[1], argc > 2);
} catch (const std::exception& error) {
  std::fprintf(stderr, "generate_api: %s\n", error.what());
  return 1;
}
