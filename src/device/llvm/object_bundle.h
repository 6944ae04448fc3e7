// Compiled kernels of one target in one piece of text: what a model's file carries so that it starts without compiling.
//
// A line that says what it is and for which target (object_key()'s code_target), then sealed objects. A bundle for
// another target is left aside; damaged objects count as absent.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/llvm/object_cache.h"

namespace hone {

using ObjectMap = std::map<std::string, std::vector<std::byte>>;  // by ObjectKey::hex()

std::string bundle_objects(std::string_view code_target, const std::vector<SealedObject>& objects);

struct UnpackedBundle {
  ObjectMap objects;
  std::string note;  // why none or not all are there; empty when all are
};
UnpackedBundle unpack_bundle(std::string_view bundle, std::string_view code_target);

}  // namespace hone
