// The example formats of every registered family that a tensor can be packed in.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "formats/registry.h"

namespace hone::test {

inline std::vector<std::string> packed_examples() {
  std::vector<std::string> examples;
  for (const FormatDef* family : formats::all())
    for (const std::string& example : split(family->examples, ' ')) {
      const Format format = parse_format(example);
      if (!is_plain_float(format) && !is_fake_only(format)) examples.push_back(example);
    }
  return examples;
}

}  // namespace hone::test
