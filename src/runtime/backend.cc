#include "runtime/backend.h"

namespace hone {

Buffer Backend::copied(const Buffer& from) {
  Buffer copy = allocate(from.size());
  if (from.size() == 0) return copy;
  const std::unique_ptr<Queue> queue = make_queue();
  queue->write(copy.address(), from.bytes());
  queue->synchronise();
  return copy;
}

}  // namespace hone
