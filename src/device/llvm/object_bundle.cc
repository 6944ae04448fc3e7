#include "device/llvm/object_bundle.h"

#include <fmt/format.h>

namespace hone {
namespace {

constexpr std::string_view kFirstWords = "hone objects for ";

}  // namespace

std::string bundle_objects(std::string_view code_target, const std::vector<SealedObject>& objects) {
  std::string bundle = fmt::format("{}{}\n", kFirstWords, code_target);
  for (const SealedObject& o : objects) bundle += sealed_object(o.key, o.object);
  return bundle;
}

UnpackedBundle unpack_bundle(std::string_view bundle, std::string_view code_target) {
  const size_t end = bundle.find('\n');
  if (!bundle.starts_with(kFirstWords) || end == std::string_view::npos)
    return {{}, "the machine code in the model's file is damaged and left aside"};
  const std::string_view made_for = bundle.substr(kFirstWords.size(), end - kFirstWords.size());
  if (made_for != code_target)
    return {{},
            fmt::format("the machine code in the model's file is for \"{}\", this is \"{}\": left aside", made_for,
                        code_target)};
  UnpackedBundle result;
  bundle.remove_prefix(end + 1);
  while (!bundle.empty()) {
    std::optional<SealedObject> object = unseal_object(bundle);
    if (!object) {
      result.note = "a part of the machine code in the model's file is damaged and left aside";
      break;
    }
    result.objects.emplace(object->key.hex(), std::move(object->object));
  }
  return result;
}

}  // namespace hone
