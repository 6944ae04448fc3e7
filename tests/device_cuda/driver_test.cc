// Loading a CUDA driver: what it says of devices, and of drivers that are not there, too old, or lack a function.
#include "device/cuda/driver.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/error_of.h"

namespace hone::cuda {
namespace {

using test::error_of;

// The driver at `path`, with these settings of an emulated one.
class With {
 public:
  With(const char* path, const char* settings) {
    ::setenv("HONE_CUDA_DRIVER", path, 1);
    if (!*settings) return;
    const SharedLibrary library(path, SharedLibrary::Symbols::own, "a test");
    int (*configure)(const char*) = nullptr;
    library.find("emulated_cuda_configure", configure, "it is no emulated driver");
    CHECK(configure(settings) == 0);
  }
  ~With() { ::unsetenv("HONE_CUDA_DRIVER"); }
};

TEST(CudaDriverLibrary, ListsDevices) {
  const With emulated(HONE_EMULATED_DRIVER, "devices=2,capability=8.6,memory=64M,multiprocessors=5,driver=12.2");
  const Driver driver;
  EXPECT_EQ(driver.version(), 12020);
  const std::vector<GpuFacts> devices = driver.devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].ordinal, 1);
  EXPECT_EQ(devices[1].name, "emulated device 1");
  EXPECT_EQ(devices[1].memory_bytes, 64u << 20);
  EXPECT_EQ(10 * devices[1].major + devices[1].minor, 86);
  EXPECT_EQ(devices[1].multiprocessors, 5);
  EXPECT_EQ(devices[1].shared_bytes_of_block, 99 << 10);
}

TEST(CudaDriverLibrary, SaysWhatIsMissing) {
  {
    const With none("/no/such/libcuda.so.1", "");
    EXPECT_EQ(error_of([] { Driver(); }).find("CUDA needs NVIDIA's driver: /no/such/libcuda.so.1"), 0u)
        << error_of([] { Driver(); });
  }
  {
    const With old(HONE_EMULATED_DRIVER, "driver=11.0");
    EXPECT_EQ(
        error_of([] { Driver(); }),
        "CUDA: the driver is for CUDA 11.0; hone needs 11.4 (driver 470) or newer. Update NVIDIA's driver, or use "
        "--device cpu");
  }
  {
    const With no_device(HONE_EMULATED_DRIVER, "devices=0");
    EXPECT_EQ(
        error_of([] { Driver(); }),
        "CUDA: to begin: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE); CUDA_VISIBLE_DEVICES may hide it");
  }
  {
    const With lacking(HONE_EMULATED_DRIVER_WITHOUT_GRAPHS, "driver=12.2");
    EXPECT_EQ(error_of([] { Driver(); }),
              std::string(HONE_EMULATED_DRIVER_WITHOUT_GRAPHS) + " has no cuGraphCreate: update NVIDIA's driver");
  }
}

TEST(CudaDriverLibrary, NamesErrorsAndWhatTheDriverReads) {
  const With emulated(HONE_EMULATED_DRIVER, "driver=11.8");
  const Driver driver;
  driver.check(kSuccess, "nothing");
  EXPECT_EQ(error_of([&] { driver.check(kOutOfMemory, "memory of a run"); }),
            "CUDA: memory of a run: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  EXPECT_EQ(error_of([&] { driver.check(kUnsupportedPtxVersion, "a kernel"); }),
            "CUDA: a kernel: the provided PTX was compiled with an unsupported toolchain. "
            "(CUDA_ERROR_UNSUPPORTED_PTX_VERSION); "
            "this driver is for CUDA 11.8 and reads PTX up to 7.8");
  EXPECT_EQ(error_of([&] { driver.check(4321, "a kernel"); }),
            "CUDA: a kernel: an error that the driver does not name (4321)");
  EXPECT_EQ(newest_ptx(12040), 84);
}

}  // namespace
}  // namespace hone::cuda
