// A value: a tensor with a concrete shape, its elements in row-major order or the planes of a packed format; or a
// sequence of tensors, or an optional. Copies share their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/packed.h"
#include "ir/memory.h"
#include "ir/type.h"

namespace hone {

// Bytes with shared ownership: an allocation, or a part of a mapped file that stays mapped as long as someone looks at
// it; of the host's memory or of a device's.
//
// The elements of a matrix may still lie elsewhere in another order (Source). Whoever asks for bytes() gets them in
// order: they are put there once, for all copies of the buffer. Who can read them as they lie asks for source().
class Buffer {
 public:
  struct Source {
    std::shared_ptr<const void> owner;  // of bytes that nobody changes
    std::span<const std::byte> bytes;   // on any byte
    int64_t rows = 1, columns = 0, element_bytes = 1;
    bool by_columns = false;  // column after column
    bool mapped = false;      // as is_mapped()
  };
  Buffer() = default;
  explicit Buffer(size_t bytes);  // zeroed, 64-byte aligned
  Buffer(std::shared_ptr<const void> owner, std::span<const std::byte> view, bool mapped = false);
  static Buffer copy_of(std::span<const std::byte> bytes);
  static Buffer uninitialised(size_t bytes);  // as the first, with whatever lies there
  static Buffer of_source(Source source);     // looks at its bytes where they lie when these are in order already
  // Of a device, which lives as long as `owner`.
  static Buffer of_device(Memory& memory, std::shared_ptr<const void> owner, std::span<const std::byte> view);

  std::span<const std::byte> bytes() const {  // of the host; Bug where a device has them
    if (memory_ || unordered_) [[unlikely]]
      return bytes_in_order();
    return view_;
  }
  // None when the bytes are in order, on a byte that suits their elements.
  std::optional<Source> source() const;
  // A matrix [rows, columns] with its axes exchanged. What nobody can change stays where it lies.
  Buffer transposed(int64_t rows, int64_t columns, int64_t element_bytes) const;
  Memory* memory() const { return memory_; }  // null: the host
  std::byte* address() const {                // whoever has it
    return const_cast<std::byte*>(unordered_ ? bytes_in_order().data() : view_.data());
  }
  std::byte* unaligned_address() const;  // the same, but on any byte: in the file where that has them in order
  bool is_unique() const { return writable_ && owner_.use_count() <= 1; }  // nobody else looks at what lies there
  Buffer on_host() const;                                                  // itself, or a copy of a device's
  size_t size() const { return view_.size(); }
  bool is_mapped() const { return mapped_; }  // pages can be dropped (base/mapped_file.h) and come back from the file
  std::span<std::byte> mutable_bytes();       // copies first when shared or not writable

 private:
  struct Unordered;
  const Unordered& unordered() const;
  std::span<const std::byte> bytes_in_order() const;

  std::shared_ptr<const void> owner_;  // an Unordered where it is `unordered_`
  std::span<const std::byte> view_;
  Memory* memory_ = nullptr;
  bool writable_ = false, mapped_ = false, unordered_ = false;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, std::vector<int64_t> shape);               // zeros (strings: empty)
  Tensor(DType dtype, std::vector<int64_t> shape, Buffer data);  // Bug when the size does not fit
  static Tensor packed(Format format, std::vector<int64_t> shape, Buffer codes, Buffer scales, Buffer zero_points,
                       Buffer global);
  static Tensor strings(std::vector<int64_t> shape, std::vector<std::string> values);
  // Containers: their dtype is that of what they hold, their shape is empty.
  static Tensor sequence(DType dtype, std::vector<Tensor> items);
  static Tensor optional(const TensorType& type, std::optional<Tensor> value);  // of a tensor or a sequence

  template <class T>
  static Tensor of(std::vector<int64_t> shape, const std::vector<T>& values);  // T: float double (u)int8..64_t bool
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }

  DType dtype() const { return dtype_; }
  const std::optional<Format>& format() const { return format_; }
  bool is_packed() const { return format_.has_value(); }
  Container container() const { return container_; }
  std::span<const Tensor> items() const;  // of a container: an optional has none or one
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t dim(int axis) const {
    return shape_[static_cast<size_t>(axis < 0 ? axis + static_cast<int>(shape_.size()) : axis)];
  }
  int64_t elements() const { return element_count(shape_); }
  int64_t bytes() const;  // of all planes
  TensorType type() const;
  Tensor reshaped(std::vector<int64_t> shape) const;  // same elements (plain tensors only)

  const Buffer& data() const { return data_; }  // plain elements, or codes
  std::byte* mutable_data() { return data_.mutable_bytes().data(); }
  Tensor on_host() const;
  const Buffer& scales() const { return scales_; }
  const Buffer& zero_points() const { return zero_points_; }
  const Buffer& global() const { return global_; }
  std::array<const Buffer*, 4> buffers() const { return {&data_, &scales_, &zero_points_, &global_}; }
  std::array<Buffer*, 4> buffers() { return {&data_, &scales_, &zero_points_, &global_}; }
  PlaneView planes() const;

  template <class T>
  std::span<const T> as() const;  // Bug unless T is the dtype's own C++ type (uint16_t for f16, bf16; uint8_t for f8…,
                                  // f6…, f4e2m1, u4, u2; int8_t for i4, i2)
  template <class T>
  std::span<T> mutable_as();
  const std::vector<std::string>& string_values() const;

  std::vector<float> to_floats() const;  // any numeric dtype or packed; decoded
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_integers() const;  // integer and boolean dtypes; Error otherwise
  static Tensor from_floats(DType dtype, std::vector<int64_t> shape,
                            std::span<const float> values);  // rounds to the dtype
  static Tensor from_doubles(DType dtype, std::vector<int64_t> shape, std::span<const double> values);
  Tensor converted(DType dtype) const;  // as the `cast` op: through the expr rules

  bool same_bits(const Tensor& other) const;  // type and bytes

 private:
  DType dtype_ = DType::f32;
  std::optional<Format> format_;
  std::vector<int64_t> shape_;
  Buffer data_, scales_, zero_points_, global_;
  std::shared_ptr<const std::vector<std::string>> strings_;
  Container container_ = Container::none;
  std::shared_ptr<const std::vector<Tensor>> items_;
};

// Whether a value declared as `type` may be the tensor: sizes that are no constants may be any.
bool fits(const Tensor& tensor, const TensorType& type);

Tensor pack(const Format& format, const Tensor& plain,
            EncodeCounts* counts = nullptr);  // f32, f16, bf16, f64 in; fp32/fp16/bf16 give plain dtypes
Tensor unpack(const Tensor& tensor);          // f32

}  // namespace hone
