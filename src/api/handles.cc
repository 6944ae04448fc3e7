#include "api/handles.h"

#include <array>
#include <limits>
#include <utility>

#include "base/error.h"

namespace hone::api {
namespace {

const char* name_of(HandleKind kind) { return std::array{"model", "session", "context"}[static_cast<size_t>(kind)]; }

}  // namespace

uint64_t Handles::add(HandleKind kind, std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (slots_.size() >= std::numeric_limits<uint32_t>::max()) hone::fail("too many objects; hone_free() some");
    slots_.emplace_back();  // first: what is free is there, also where the system has no memory for the next line
    free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
  }
  const uint32_t at = free_.back();
  free_.pop_back();
  Slot& slot = slots_[at];
  slot.kind = kind;
  slot.object = std::move(object);
  return uint64_t{slot.generation} << 32 | at;
}

size_t Handles::place(uint64_t handle) const {
  if (handle == 0) hone::fail("the handle is 0, which is no object");
  const size_t at = handle & 0xffffffff;
  if (at >= slots_.size() || slots_[at].generation < handle >> 32 || handle >> 32 == 0)
    hone::fail("handle {}: hone never gave it", handle);
  if (slots_[at].generation != handle >> 32 || !slots_[at].object) hone::fail("handle {}: was freed", handle);
  return at;
}

std::shared_ptr<void> Handles::find(uint64_t handle, HandleKind kind) const {
  const std::lock_guard lock(mutex_);
  const Slot& slot = slots_[place(handle)];
  if (slot.kind != kind) hone::fail("handle {}: is a {}; a {} is needed", handle, name_of(slot.kind), name_of(kind));
  return slot.object;
}

std::shared_ptr<Model> Handles::model(uint64_t handle) const {
  return std::static_pointer_cast<Model>(find(handle, HandleKind::model));
}
std::shared_ptr<PortTexts> Handles::session(uint64_t handle) const {
  return std::static_pointer_cast<PortTexts>(find(handle, HandleKind::session));
}
std::shared_ptr<Context> Handles::context(uint64_t handle) const {
  return std::static_pointer_cast<Context>(find(handle, HandleKind::context));
}

void Handles::free(uint64_t handle) {
  std::shared_ptr<void> object;  // goes when the lock does not hold others up any more
  const std::lock_guard lock(mutex_);
  const size_t at = place(handle);
  object = std::move(slots_[at].object);
  slots_[at].object = nullptr;
  if (++slots_[at].generation != 0) free_.push_back(static_cast<uint32_t>(at));
}

}  // namespace hone::api
