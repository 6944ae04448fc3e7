// Bytes as the arrays of a data set: those of a .npy file each, as so many bytes as the one before it says. The archive
// around them is read from a file, in memory.
#include <sys/mman.h>
#include <unistd.h>

#include "data/readers/parse.h"
#include "io/numpy.h"
#include "tests/fuzz/data_fuzz.h"

namespace {

std::vector<hone::NamedTensor> arrays_of(std::string_view rest) {
  constexpr const char* kNames[] = {"images", "label", "group", "x"};
  std::vector<hone::NamedTensor> arrays;
  for (const char* name : kNames) {
    if (rest.empty()) break;
    const size_t size = std::min<size_t>(static_cast<unsigned char>(rest[0]), rest.size() - 1);
    if (size > 0) arrays.push_back({name, hone::parse_npy(rest.substr(1, size), name)});
    rest.remove_prefix(1 + size);
  }
  return arrays;
}

std::vector<hone::NamedTensor> archive_of(std::string_view bytes) {
  static const int file = ::memfd_create("fuzz.npz", 0);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) return {};
  return hone::read_npz("/proc/self/fd/" + std::to_string(file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest = hone::fuzz::text_of(data + 1, size - 1);
  hone::DataOptions options;
  if (data[0] & 1) options.labels = "x";
  else if (data[0] & 2) options.target = "x";
  return hone::fuzz::exercise_dataset(
      [&] { return hone::dataset_of_arrays(data[0] & 4 ? archive_of(rest) : arrays_of(rest), "fuzz.npz", options); });
}
