#include <hone/tensor.h>

#include <algorithm>
#include <cstring>

#include "api/guarded.h"
#include "api/values.h"
#include "ir/node_rules.h"

namespace hone::api {

static_assert(static_cast<int>(DType::f6e3m2) == static_cast<int>(hone::DType::f6e3m2) &&
              static_cast<int>(DType::string) == static_cast<int>(hone::DType::string));

std::string_view to_string(DType dtype) {
  return guarded([&] { return hone::to_string(engine(dtype)); });
}
std::optional<DType> parse_dtype(std::string_view text) {
  const std::optional<hone::DType> dtype = hone::parse_dtype(text);
  return dtype ? std::optional(wrapped(*dtype)) : std::nullopt;
}
int size_bytes(DType dtype) {
  return guarded([&] {
    if (dtype == DType::string) fail("elements of type string have no size in bytes");
    if (dtype > DType::f6e3m2) fail("{} is no element type", static_cast<int>(dtype));
    return hone::size_bytes(engine(dtype));
  });
}

namespace {

// Throws Error unless it is the shape of a tensor.
void check_shape(hone::DType dtype, const std::vector<int64_t>& shape) {
  if (wrapped(dtype) > DType::f6e3m2) fail("{} is no element type", static_cast<int>(dtype));
  expect_addressable({.dtype = dtype, .shape = to_shape(shape), .format = std::nullopt});
}

std::shared_ptr<Tensor::Impl> owned(hone::Tensor tensor) { return wrapped(std::move(tensor)).impl(); }

std::shared_ptr<Tensor::Impl> memory_impl(Tensor::Impl::Memory memory) {
  check_shape(memory.dtype, memory.shape);
  if (memory.dtype == hone::DType::string) fail("memory of strings: give them to Tensor::of_strings()");
  if (memory.strides.empty()) memory.strides = Strides::dense(memory.shape).strides;
  if (memory.strides.size() != memory.shape.size())
    fail("{} strides for {} dimensions", memory.strides.size(), memory.shape.size());
  if (!memory.first && element_count(memory.shape) != 0)
    fail("null memory for a tensor of {} elements", element_count(memory.shape));
  span_of(memory);  // throws Error where the sizes overflow
  auto impl = std::make_shared<Tensor::Impl>();
  impl->shape = memory.shape;
  impl->memory = std::move(memory);
  return impl;
}

}  // namespace

Tensor::Tensor() : Tensor(DType::f32, {}) {}
Tensor::Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tensor::Tensor(DType dtype, std::vector<int64_t> shape) {
  guarded([&] {
    check_shape(engine(dtype), shape);
    impl_ = owned(hone::Tensor(engine(dtype), std::move(shape)));
  });
}

Tensor Tensor::copy_of(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> row_major) {
  return guarded([&] {
    Tensor tensor(dtype, std::move(shape));
    if (dtype == DType::string || tensor.bytes() != std::ssize(row_major))
      fail("{} bytes for a tensor {}", row_major.size(), tensor.type());
    if (!row_major.empty()) std::memcpy(tensor.mutable_data(), row_major.data(), row_major.size());
    return tensor;
  });
}

Tensor Tensor::of_strings(std::vector<int64_t> shape, std::vector<std::string> elements) {
  return guarded([&] {
    check_shape(hone::DType::string, shape);
    if (element_count(shape) != std::ssize(elements))
      fail("{} strings for a tensor of {} elements", elements.size(), element_count(shape));
    return Tensor(owned(hone::Tensor::strings(std::move(shape), std::move(elements))));
  });
}

Tensor Tensor::of_memory(DType dtype, std::vector<int64_t> shape, void* first, std::shared_ptr<const void> owner,
                         std::vector<int64_t> strides) {
  return guarded([&] {
    return Tensor(memory_impl({engine(dtype), std::move(shape), std::move(strides), static_cast<std::byte*>(first),
                               std::move(owner), false}));
  });
}

Tensor Tensor::of_read_only_memory(DType dtype, std::vector<int64_t> shape, const void* first,
                                   std::shared_ptr<const void> owner, std::vector<int64_t> strides) {
  return guarded([&] {
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(first));  // written by nobody: it is read-only
    return Tensor(memory_impl({engine(dtype), std::move(shape), std::move(strides), bytes, std::move(owner), true}));
  });
}

DType Tensor::dtype() const { return wrapped(impl_->memory ? impl_->memory->dtype : impl_->tensor.dtype()); }
const std::vector<int64_t>& Tensor::shape() const { return impl_->shape; }
std::vector<int64_t> Tensor::strides() const {
  return impl_->memory ? impl_->memory->strides : Strides::dense(impl_->shape).strides;
}
int64_t Tensor::elements() const { return element_count(impl_->shape); }
int64_t Tensor::bytes() const {
  return impl_->memory ? elements() * hone::size_bytes(impl_->memory->dtype) : impl_->tensor.bytes();
}
bool Tensor::is_packed() const { return !impl_->memory && impl_->tensor.is_packed(); }
std::string Tensor::format() const { return is_packed() ? hone::to_string(*impl_->tensor.format()) : ""; }
bool Tensor::is_row_major() const { return !is_packed() && (!impl_->memory || api::is_row_major(*impl_->memory)); }
bool Tensor::is_read_only() const { return impl_->memory && impl_->memory->read_only; }
std::string Tensor::type() const {
  if (!impl_->memory) return hone::to_string(impl_->tensor.type());
  return hone::to_string(
      TensorType{.dtype = impl_->memory->dtype, .shape = to_shape(impl_->shape), .format = std::nullopt});
}

const void* Tensor::data() const {
  return guarded([&]() -> const void* {
    if (impl_->memory) return impl_->memory->first;
    if (is_packed() || dtype() == DType::string || impl_->tensor.container() != Container::none)
      fail("a tensor {} has no plain elements to look at", type());
    return impl_->tensor.data().bytes().data();
  });
}

void* Tensor::mutable_data() {
  return guarded([&]() -> void* {
    static_cast<void>(data());  // throws Error where there are no plain elements
    const bool writable = impl_->memory && !impl_->memory->read_only;
    if (writable && impl_.use_count() == 1) return impl_->memory->first;
    if (impl_->memory) {
      hone::Tensor elements = engine(*this);
      impl_ = owned(std::move(elements));
    } else if (impl_.use_count() > 1) {
      impl_ = std::make_shared<Impl>(*impl_);
    }
    return impl_->tensor.mutable_data();  // copies where somebody else has the bytes
  });
}

const void* Tensor::row_major(size_t element_bytes, Kind kind) const {
  return guarded([&] {
    const void* first = data();
    const hone::DType found = engine(dtype());
    const bool is_code = hone::is_small(found) || found == hone::DType::f16 || found == hone::DType::bf16;
    const bool is_signed_code = found == hone::DType::i4 || found == hone::DType::i2;
    Kind stored = hone::is_float(found) && !is_code ? Kind::floating : Kind::integer;
    if (found == hone::DType::boolean) stored = Kind::boolean;
    const bool is_unsigned = found >= hone::DType::u8 && found <= hone::DType::u64;
    if (is_unsigned || (is_code && !is_signed_code)) stored = Kind::unsigned_integer;
    if (stored != kind || static_cast<size_t>(hone::size_bytes(found)) != element_bytes)
      fail("elements of a tensor {} are read as another type of {} bytes", type(), element_bytes);
    if (!is_row_major()) fail("elements of a tensor {} lie apart; contiguous() puts them together", type());
    return first;
  });
}

const std::vector<std::string>& Tensor::strings() const {
  return guarded([&]() -> const std::vector<std::string>& {
    if (dtype() != DType::string) fail("a tensor {} has no strings", type());
    return impl_->tensor.string_values();
  });
}

Tensor Tensor::contiguous() const {
  return guarded([&] { return is_row_major() || is_packed() ? *this : wrapped(engine(*this)); });
}
std::vector<float> Tensor::to_floats() const {
  return guarded([&] {
    if (dtype() == DType::string) fail("a tensor {} has no numbers", type());
    return engine(*this).to_floats();
  });
}
std::vector<double> Tensor::to_doubles() const {
  return guarded([&] {
    if (dtype() == DType::string) fail("a tensor {} has no numbers", type());
    return engine(*this).to_doubles();
  });
}
std::vector<int64_t> Tensor::to_integers() const {
  return guarded([&] { return engine(*this).to_integers(); });
}
Tensor Tensor::converted(DType dtype) const {
  return guarded([&] {
    if (dtype == DType::string || this->dtype() == DType::string || dtype > DType::f6e3m2)
      fail("a tensor {} is not converted to {}", type(), static_cast<int>(dtype));
    hone::Tensor plain = is_packed() ? hone::unpack(impl_->tensor) : engine(*this);
    return wrapped(plain.converted(engine(dtype)));
  });
}
Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  return guarded([&] {
    check_shape(engine(dtype()), shape);
    if (is_packed() || element_count(shape) != elements())
      fail("a tensor {} has no shape of {} elements", type(), element_count(shape));
    return wrapped(engine(*this).reshaped(std::move(shape)));
  });
}

}  // namespace hone::api
