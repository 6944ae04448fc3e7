#include "runtime/run_values.h"

#include <algorithm>

#include "runtime/drained.h"
#include "runtime/strided.h"

namespace hone {

std::byte* RunValues::address(ValueId v, size_t plane) const {
  const RunPlan::Place& place = plan_.place(v);
  const size_t position = static_cast<size_t>(place.offset) * kPlanes + plane;
  switch (place.kind) {
    case RunPlan::Place::Kind::arena:
      return workspace_.arena() + place.offset + plane_offsets(plan_.sizes_of(v))[plane];
    case RunPlan::Place::Kind::input:
      return const_cast<std::byte*>(workspace_.bound.inputs[position]);
    case RunPlan::Place::Kind::output:
      return workspace_.bound.outputs[position];
    case RunPlan::Place::Kind::constant:
    case RunPlan::Place::Kind::none:
      break;
  }
  CHECK(false, "value %{} has no memory", plan_.graph().value(v).name);
}

// Of an input that has not been brought to the device: the host's memory. Null where the value has an address there.
const Buffer* RunValues::at_caller(ValueId v, size_t plane) const {
  if (plan_.place(v).kind != RunPlan::Place::Kind::input || address(v, plane)) return nullptr;
  const auto given = inputs_.find(plan_.graph().value(plan_.holder(v)).label);
  return given == inputs_.end() ? nullptr : given->second.buffers()[plane];
}

void RunValues::read(ValueId v, size_t plane, std::span<std::byte> to) const {
  const Buffer* const given = at_caller(v, plane);
  if (!given) return workspace_.queue().read(address(v, plane), to);
  workspace_.queue().synchronise();  // a write that was asked for before may still read what lies at `to`
  std::ranges::copy(given->bytes(), to.begin());
}

Tensor RunValues::view(ValueId v) const {
  if (const Tensor* own = plan_.constant(v)) return *own;
  if (const std::optional<Strides> strides = plan_.strides_of(v)) {  // memory of callers, and the host's
    const std::span<const int64_t> shape = plan_.sizes.shape(v);
    Buffer dense = Buffer::uninitialised(static_cast<size_t>(plan_.bytes_of(v)));
    copy_elements(shape, size_bytes(plan_.graph().type(v).dtype), address(v, 0), *strides, dense.mutable_bytes().data(),
                  Strides::dense(shape));
    return plan_.tensor_of(v, {std::move(dense)});
  }
  const PlaneSizes sizes = plan_.sizes_of(v);
  RunPlan::Planes planes;
  const Drained drained(workspace_.queue());  // before these go
  for (size_t p = 0; p < kPlanes; ++p) {
    if (sizes[p] == 0 && p > 0) continue;
    const auto bytes = static_cast<size_t>(sizes[p]);
    if (const Buffer* given = at_caller(v, p)) {
      planes[p] = *given;
      continue;
    }
    std::byte* const from = address(v, p);
    if (plan_.on_host) planes[p] = Buffer(nullptr, {from, bytes});
    else planes[p] = Buffer::uninitialised(bytes), workspace_.queue().read(from, planes[p].mutable_bytes());
  }
  workspace_.queue().synchronise();
  return plan_.tensor_of(v, std::move(planes));
}

void RunValues::set(ValueId v, const Tensor& value) const {
  const std::string& name = plan_.graph().value(v).name;
  if (const std::optional<Strides> strides = plan_.strides_of(v)) {
    const std::span<const int64_t> shape = plan_.sizes.shape(v);
    CHECK(std::ranges::equal(value.shape(), shape), "%{} got a value of another size", name);
    copy_elements(shape, size_bytes(plan_.graph().type(v).dtype), value.data().bytes().data(), Strides::dense(shape),
                  address(v, 0), *strides);
    return;
  }
  const PlaneSizes sizes = plan_.sizes_of(v);
  for (size_t p = 0; p < kPlanes; ++p) {
    const auto bytes = value.buffers()[p]->bytes();
    CHECK(static_cast<int64_t>(bytes.size()) == sizes[p], "%{} got a value of another size", name);
    workspace_.queue().write(bytes.empty() ? nullptr : address(v, p), bytes);
  }
}

}  // namespace hone
