// Tensors: an element type or a number format, a shape, and elements that are hone's or a caller's.
#pragma once

#include <hone/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace hone::HONE_API_INLINE api {
// Element types. Those from f8e4m3fn on are stored one element a byte; their names are ONNX's.
enum class DType : uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  string,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f4e2m1,
  i4,
  u4,
  f8e8m0,
  i2,
  u2,
  f6e2m3,
  f6e3m2
};

// "bool" "i8" … "bf16" "f32" "f64" "string", and back: none for another text.
HONE_API std::string_view to_string(DType dtype);
HONE_API std::optional<DType> parse_dtype(std::string_view text);

// Bytes of one element. Throws Error for string.
HONE_API int size_bytes(DType dtype);

// A tensor. Copies share their elements, which nobody changes while there are two: mutable_data() of one of them
// copies first. Any number of threads may read a tensor; who writes one must be alone with it.
class HONE_API Tensor {
 public:
  // A scalar zero, f32[].
  Tensor();

  // Zeros (of strings: empty ones). Throws Error for a negative size and for more than memory allows.
  Tensor(DType dtype, std::vector<int64_t> shape);

  // A copy of row-major elements of T, which is the type's own (float, double, bool, int8_t … uint64_t). Throws Error
  // where the number of elements is not that of the shape.
  template <class T>
  static Tensor of(std::vector<int64_t> shape, std::span<const T> elements) {
    return copy_of(dtype_of<T>(), std::move(shape), std::as_bytes(elements));
  }
  static Tensor copy_of(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> row_major);
  static Tensor of_strings(std::vector<int64_t> shape, std::vector<std::string> elements);

  // Elements in memory of the caller's, without a copy. `owner` lives as long as the tensor or a copy does; where it
  // is null, the caller keeps the memory for that long.
  //   first    the element [0, 0, …]
  //   strides  in elements, for each dimension; may be 0 or negative; empty: row-major
  // Throws Error for null memory with elements, and where strides and shape differ in length.
  static Tensor of_memory(DType dtype, std::vector<int64_t> shape, void* first, std::shared_ptr<const void> owner,
                          std::vector<int64_t> strides = {});
  // The same, of memory that nobody may write: mutable_data() copies, and no run writes there.
  static Tensor of_read_only_memory(DType dtype, std::vector<int64_t> shape, const void* first,
                                    std::shared_ptr<const void> owner, std::vector<int64_t> strides = {});

  DType dtype() const;                        // f32 of a packed tensor: what reading an element gives
  const std::vector<int64_t>& shape() const;  // sizes, in elements
  std::vector<int64_t> strides() const;       // in elements; those of row-major order where nothing else was given
  int64_t elements() const;                   // the product of the sizes
  int64_t bytes() const;                      // of the elements, or of all planes of a packed tensor
  bool is_packed() const;                     // in a number format, such as mxint8
  std::string format() const;                 // its canonical text; empty for plain elements
  bool is_row_major() const;                  // plain elements without gaps, in order
  bool is_read_only() const;                  // in memory that nobody may write
  std::string type() const;                   // "f32[2,384]", "mxint8[30522,384]"

  // The first element, of plain tensors: elements lie as strides() says. Throws Error for strings and packed tensors.
  const void* data() const;
  // Likewise, to be written. Elements are copied first, into row-major order, where somebody else has them too or
  // nobody may write them.
  void* mutable_data();

  // Row-major elements as what they are stored in (uint16_t of f16 and bf16, uint8_t of 8 bits and less). Throws
  // Error where T is another type or elements lie apart: contiguous() puts them together.
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(row_major(sizeof(T), kind_of<T>())), static_cast<size_t>(elements())};
  }
  const std::vector<std::string>& strings() const;  // of a tensor of strings; Error otherwise
  Tensor contiguous() const;                        // itself, or a copy in row-major order

  // Elements as numbers, in row-major order; packed ones are decoded. Throws Error for strings, and to_integers() for
  // types of floating point.
  std::vector<float> to_floats() const;
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_integers() const;

  Tensor converted(DType dtype) const;                // each element rounded to nearest even
  Tensor reshaped(std::vector<int64_t> shape) const;  // the same elements; Error for another number of them

  // The tensor for another library, without a copy: strides, and that it is read-only, go along, and the elements
  // live until the deleter is called. Elements that copies of this tensor share are read-only there. Throws Error for
  // strings, packed tensors and types of less than 8 bits.
  DLManagedTensorVersioned* to_dlpack() const;

  // An array of another library, without a copy. The tensor takes it over: its deleter is called when the last copy
  // goes, by whichever thread has that. After an Error (a null pointer, memory of another device, an unknown element
  // type, another major version) it is still the caller's.
  static Tensor from_dlpack(DLManagedTensorVersioned* array);
  static Tensor from_dlpack(DLManagedTensor* array);

  struct Impl;                                                 // hone's own
  explicit Tensor(std::shared_ptr<Impl> impl);                 // hone's own
  const std::shared_ptr<Impl>& impl() const { return impl_; }  // hone's own

 private:
  enum class Kind : uint8_t { boolean, integer, unsigned_integer, floating };
  template <class T>
  static constexpr Kind kind_of() {
    if (std::is_same_v<T, bool>) return Kind::boolean;
    if (std::is_floating_point_v<T>) return Kind::floating;
    static_assert(std::is_arithmetic_v<T>, "elements are numbers");
    return std::is_signed_v<T> ? Kind::integer : Kind::unsigned_integer;
  }
  template <class T>
  static constexpr DType dtype_of() {
    constexpr Kind kind = kind_of<T>();
    if (kind == Kind::boolean) return DType::boolean;
    if (kind == Kind::floating) return sizeof(T) == 4 ? DType::f32 : DType::f64;
    const DType first = kind == Kind::integer ? DType::i8 : DType::u8;
    const int step = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>(static_cast<int>(first) + step);
  }
  const void* row_major(size_t element_bytes, Kind kind) const;

  std::shared_ptr<Impl> impl_;
};

// Tensors by the names of inputs, outputs, parameters or state.
using NamedTensors = std::map<std::string, Tensor>;

}  // namespace hone::HONE_API_INLINEapi
