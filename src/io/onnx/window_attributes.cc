#include "io/onnx/window_attributes.h"

namespace hone {

Attributes window_attributes(const OnnxNode& n) {
  Attributes attributes;
  for (const char* name : {"strides", "dilations"})
    if (n.has_attribute(name)) attributes.set(name, n.integers(name));
  const std::string pads = n.text("auto_pad", "NOTSET");
  if (pads == "SAME_UPPER") attributes.set("auto_pad", std::string("same_upper"));
  else if (pads == "SAME_LOWER") attributes.set("auto_pad", std::string("same_lower"));
  else if (pads == "NOTSET" && n.has_attribute("pads")) attributes.set("pads", n.integers("pads"));
  else if (pads != "NOTSET" && pads != "VALID")
    fail("auto_pad is \"{}\"; accepted: NOTSET, SAME_UPPER, SAME_LOWER, VALID", pads);
  if (n.is_one("ceil_mode", false)) attributes.set("ceil_mode", int64_t{1});
  return attributes;
}

Attributes conv_attributes(const OnnxNode& n) {
  Attributes attributes = window_attributes(n);
  if (const int64_t groups = n.integer("group", 1); groups != 1) attributes.set("groups", groups);
  return attributes;
}

}  // namespace hone
