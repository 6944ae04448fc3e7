// A header of include/hone as its documentation sees it: paragraphs of comments and declarations.
#pragma once

#include <string>
#include <vector>

namespace hone::generate {

// Lines of a namespace that belong together: a comment, and the declarations right below it.
struct Paragraph {
  std::vector<std::string> comment;  // without the slashes
  std::vector<std::string> code;
};

struct Header {
  std::string name;                // "tensor.h"
  std::vector<std::string> intro;  // what stands above #pragma once
  std::vector<Paragraph> paragraphs;
};

Header read_header(const std::string& path);

// Names without a word about them: "tensor.h: const void* data() const;". In a class or struct, a comment stands for
// all lines below it up to an empty one, as the one above the whole does; at the end of a line it stands for that line.
// What is private needs none.
std::vector<std::string> undocumented(const Header& header);

std::string markdown(const Header& header);  // docs/api/<stem>.md

}  // namespace hone::generate
