// Memory of a device that is taken again, on the device `steps`, which counts what is taken of it.
#include "runtime/buffer_pool.h"

#include <gtest/gtest.h>

#include "device/steps/device.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

class BufferPoolTest : public testing::Test {
 protected:
  int64_t takes() const { return device_->memory().takes(); }
  int64_t blocks() const { return device_->memory().blocks(); }

  const std::shared_ptr<StepsDevice> device_ = std::make_shared<StepsDevice>();
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(device_);
};

TEST_F(BufferPoolTest, TakesWhatWasGivenBackUpToTwiceAsLarge) {
  pool_->take(100);
  const Buffer smaller = pool_->take(60);
  EXPECT_EQ(takes(), 1);
  EXPECT_EQ(smaller.size(), 60u);
  EXPECT_TRUE(smaller.is_unique());
  EXPECT_EQ(smaller.memory(), device_.get());
  pool_->take(60);
  EXPECT_EQ(takes(), 2) << "the one is still there";
  pool_->take(61);
  pool_->take(29);
  EXPECT_EQ(takes(), 4) << "60 bytes are too few for the one and too many for the other";
}

TEST_F(BufferPoolTest, NoBytesTakeNoMemory) {
  EXPECT_EQ(pool_->take(0).size(), 0u);
  EXPECT_EQ(takes(), 0);
}

TEST_F(BufferPoolTest, KeepsTwiceOfWhatWasTakenAtOnce) {
  for (size_t bytes = 10; bytes <= 20; ++bytes) pool_->take(bytes);
  EXPECT_EQ(takes(), 11);
  EXPECT_EQ(blocks(), 2) << "19 and 20 bytes";
}

TEST_F(BufferPoolTest, DropsWhatIsFreeWhereMemoryEnds) {
  pool_->take(1000);
  device_->memory().fail_after(0);
  const Buffer small = pool_->take(10);
  EXPECT_EQ(blocks(), 1);
  device_->memory().fail_after(0);
  EXPECT_NE(error_of([&] { pool_->take(10); }).find("no more memory"), std::string::npos);
  EXPECT_EQ(pool_->take(10).size(), 10u);
  device_->memory().fail_after(0);
  EXPECT_EQ(pool_->fresh(10).size(), 10u);
  EXPECT_EQ(blocks(), 1) << "what is fresh is not kept";
}

TEST_F(BufferPoolTest, GoesBeforeWhatWasTakenOfIt) {
  Buffer taken = pool_->take(10);
  pool_->take(1000);
  pool_ = nullptr;
  EXPECT_EQ(blocks(), 1);
  taken = {};
  EXPECT_EQ(blocks(), 0);
}

}  // namespace
}  // namespace hone::test
