// Objects as numbers: a place in a table, and which of the objects that were ever there is meant. What was freed, what
// is of another kind and what never was an object is refused.
#pragma once

#include <hone/session.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hone::api {

// A session with the texts that C looks at.
struct PortTexts {
  explicit PortTexts(Session of) : session(std::move(of)), inputs(session.inputs()), outputs(session.outputs()) {}
  Session session;
  std::vector<Port> inputs, outputs;
};

enum class HandleKind : uint8_t { model, session, context };

// For any number of threads at once. An object lives until it is freed and the last call that uses it has ended.
class Handles {
 public:
  uint64_t add(std::shared_ptr<Model> model) { return add(HandleKind::model, std::move(model)); }
  uint64_t add(std::shared_ptr<PortTexts> session) { return add(HandleKind::session, std::move(session)); }
  uint64_t add(std::shared_ptr<Context> context) { return add(HandleKind::context, std::move(context)); }

  // Each throws Error, which says what the number is, where it is none of such an object.
  std::shared_ptr<Model> model(uint64_t handle) const;
  std::shared_ptr<PortTexts> session(uint64_t handle) const;
  std::shared_ptr<Context> context(uint64_t handle) const;
  void free(uint64_t handle);

 private:
  struct Slot {
    uint32_t generation = 1;  // of the next object, or of the one that is there; 0: the place is used up
    HandleKind kind = HandleKind::model;
    std::shared_ptr<void> object;
  };
  uint64_t add(HandleKind kind, std::shared_ptr<void> object);
  size_t place(uint64_t handle) const;  // under the lock
  std::shared_ptr<void> find(uint64_t handle, HandleKind kind) const;

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace hone::api
