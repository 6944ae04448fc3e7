// tests/data/onnx_passing.txt: the ONNX cases that pass, a line `SOURCE CASE` each, sorted. Exactly these cases of a
// source must pass. Of a version of a package that has no lines, those must pass that another version's lines name;
// what else it has is told, and no fault.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "jobs/onnx_test.h"

namespace hone::test {

struct CaseSource {
  std::string package, version;  // no version: there is but one
  std::string name() const { return version.empty() ? package : package + "-" + version; }
};

using PassingCases = std::map<std::string, std::set<std::string>>;  // by the source's name

inline PassingCases parse_passing(std::string_view text) {
  PassingCases passing;
  for (const std::string& line : split(text, '\n'))
    if (const size_t space = line.find(' '); space != std::string::npos && !line.starts_with('#'))
      passing[line.substr(0, space)].insert(line.substr(space + 1));
  return passing;
}

inline std::string print_passing(const PassingCases& passing) {
  std::string text =
      "# The ONNX cases that pass. To record those of the sources that are here:\n"
      "# HONE_UPDATE=1 build/dev/tests/test_conformance --gtest_filter=OnnxCases.AreRightAsTheyStand\n";
  for (const auto& [source, names] : passing)
    for (const std::string& name : names) text += source + " " + name + "\n";
  return text;
}

// All cases of a source, by their names: paths below its folder.
using RanCases = std::map<std::string, OnnxCase>;

struct PassingReport {
  std::string faults, notes;  // lines
};

inline PassingReport compare_with(const PassingCases& passing, const CaseSource& source, const RanCases& ran) {
  using Result = OnnxCase::Result;
  PassingReport report;
  const bool is_recorded = source.version.empty() || passing.contains(source.name());
  std::set<std::string> expected;
  for (const auto& [name, cases] : passing)
    if (is_recorded ? name == source.name() : name.starts_with(source.package + "-"))
      expected.insert(cases.begin(), cases.end());
  std::map<Result, int> told;
  for (const auto& [name, each] : ran) {
    const bool is_expected = expected.contains(name), passes = each.result == Result::pass;
    const auto line = [&](const char* what) {
      return fmt::format("\n  {} {}: {}{}{}", source.name(), name, what, to_string(each.result),
                         each.reason.empty() ? "" : ", " + each.reason);
    };
    if (is_expected && !passes) report.faults += line("it passed when it was recorded, and is now: ");
    else if (is_recorded && !is_expected && passes) report.faults += line("not recorded yet: ");
    else if (is_recorded && each.result == Result::wrong) report.faults += line("");
    else if (!is_recorded && !is_expected && ++told[each.result] && each.result == Result::wrong)
      report.notes += line("");
  }
  if (is_recorded)
    for (const std::string& name : expected)
      if (!ran.contains(name)) report.faults += fmt::format("\n  {} {}: is not there", source.name(), name);
  for (const auto& [result, count] : told)
    report.notes +=
        fmt::format("\n  {}: {} cases that were never recorded are: {}", source.name(), count, to_string(result));
  return report;
}

}  // namespace hone::test
