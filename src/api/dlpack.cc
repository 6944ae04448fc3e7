// DLPack's arrays as tensors and back. No element is copied: an array's owner goes along in both directions.
#include <hone/dlpack.h>
#include <hone/tensor.h>

#include <algorithm>
#include <array>

#include "api/guarded.h"
#include "api/values.h"

namespace hone::api {
namespace {

struct ElementType {
  DType dtype;
  uint8_t code, bits;
};
constexpr std::array kElementTypes{
    ElementType{DType::boolean, kDLBool, 8},
    ElementType{DType::i8, kDLInt, 8},
    ElementType{DType::i16, kDLInt, 16},
    ElementType{DType::i32, kDLInt, 32},
    ElementType{DType::i64, kDLInt, 64},
    ElementType{DType::u8, kDLUInt, 8},
    ElementType{DType::u16, kDLUInt, 16},
    ElementType{DType::u32, kDLUInt, 32},
    ElementType{DType::u64, kDLUInt, 64},
    ElementType{DType::f16, kDLFloat, 16},
    ElementType{DType::bf16, kDLBfloat, 16},
    ElementType{DType::f32, kDLFloat, 32},
    ElementType{DType::f64, kDLFloat, 64},
    ElementType{DType::f8e4m3fn, kDLFloat8_e4m3fn, 8},
    ElementType{DType::f8e4m3fnuz, kDLFloat8_e4m3fnuz, 8},
    ElementType{DType::f8e5m2, kDLFloat8_e5m2, 8},
    ElementType{DType::f8e5m2fnuz, kDLFloat8_e5m2fnuz, 8},
    ElementType{DType::f8e8m0, kDLFloat8_e8m0fnu, 8},
};

DType dtype_of(const DLDataType& type) {
  const auto found = std::ranges::find_if(
      kElementTypes, [&](const ElementType& known) { return known.code == type.code && known.bits == type.bits; });
  if (found == kElementTypes.end() || type.lanes != 1)
    fail("an array of DLPack with elements of code {}, {} bits and {} lanes: hone has no such type", type.code,
         type.bits, type.lanes);
  return found->dtype;
}

// Throws Error unless it can be looked at here.
void check(const DLTensor& array) {
  const int device = static_cast<int>(array.device.device_type);
  if (device != kDLCPU && device != kDLCUDAHost)
    fail("an array of DLPack on device type {}: copy it to the host (device type 1) before", device);
  if (array.ndim < 0 || (array.ndim > 0 && !array.shape))
    fail("an array of DLPack of {} dimensions without sizes", array.ndim);
}

Tensor tensor_of(const DLTensor& array, std::shared_ptr<const void> owner, bool read_only) {
  const DType dtype = dtype_of(array.dtype);
  std::vector<int64_t> shape(array.shape, array.shape + array.ndim), strides;
  if (array.strides) strides.assign(array.strides, array.strides + array.ndim);
  auto* first = static_cast<std::byte*>(array.data);
  if (first) first += array.byte_offset;
  return read_only ? Tensor::of_read_only_memory(dtype, std::move(shape), first, std::move(owner), std::move(strides))
                   : Tensor::of_memory(dtype, std::move(shape), first, std::move(owner), std::move(strides));
}

template <class Array>
struct Owner {
  Owner() = default;
  Owner(const Owner&) = delete;
  ~Owner() {
    if (array && array->deleter) array->deleter(array);
  }
  Array* array = nullptr;
};

template <class Array>
Tensor adopted(Array* array, bool read_only) {
  check(array->dl_tensor);
  const auto owner = std::make_shared<Owner<Array>>();
  Tensor tensor = tensor_of(array->dl_tensor, owner, read_only);
  owner->array = array;  // what was refused stayed the caller's
  return tensor;
}

// What stands behind an array that hone gives.
struct Given {
  DLManagedTensorVersioned array{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

const ElementType& element_type(const Tensor& tensor) {
  const auto found =
      std::ranges::find_if(kElementTypes, [&](const ElementType& type) { return type.dtype == tensor.dtype(); });
  if (found == kElementTypes.end() || tensor.is_packed())
    fail("a tensor {} has no form in DLPack; converted(), or to_floats(), gives numbers that have", tensor.type());
  return *found;
}

}  // namespace

Tensor Tensor::from_dlpack(DLManagedTensorVersioned* array) {
  return guarded([&] {
    if (!array) fail("a null pointer instead of an array of DLPack");
    if (array->version.major != DLPACK_MAJOR_VERSION)
      fail("an array of DLPack {}.{}: version {} is needed", array->version.major, array->version.minor,
           DLPACK_MAJOR_VERSION);
    return adopted(array, (array->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
  });
}

Tensor Tensor::from_dlpack(DLManagedTensor* array) {
  return guarded([&] {
    if (!array) fail("a null pointer instead of an array of DLPack");
    return adopted(array, false);
  });
}

DLManagedTensorVersioned* Tensor::to_dlpack() const {
  return guarded([&] {
    const ElementType& type = element_type(*this);
    auto given = std::make_unique<Given>();
    given->tensor = *this, given->shape = shape(), given->strides = strides();
    // Bytes that only this tensor has are the receiver's to write as well; a mapped file's never are. Two hold them
    // now: this tensor and what is given.
    const bool is_fixed = impl_->memory ? impl_->memory->read_only : !impl_->tensor.data().is_unique();
    const bool is_shared = is_fixed || impl_.use_count() > 2;
    DLManagedTensorVersioned& array = given->array;
    array.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    array.flags = is_shared ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    array.dl_tensor = {.data = const_cast<void*>(data()),
                       .device = {kDLCPU, 0},
                       .ndim = static_cast<int32_t>(given->shape.size()),
                       .dtype = {type.code, type.bits, 1},
                       .shape = given->shape.data(),
                       .strides = given->strides.data(),
                       .byte_offset = 0};
    array.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Given*>(self->manager_ctx); };
    array.manager_ctx = given.get();
    return &given.release()->array;
  });
}

}  // namespace hone::api
