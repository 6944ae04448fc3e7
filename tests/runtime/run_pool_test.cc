// Who may run when: one run at a time in a workspace, none in a closed pool; runs that are cancelled.
#include "runtime/run_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/error_of.h"

namespace hone::test {
namespace {

using UnderWay = RunPool::Run;

bool is_cancelled(const Workspace& workspace) {
  try {
    workspace.check_step();
    return false;
  } catch (const Stopped& stopped) {
    return stopped.why() == Stop::cancelled;
  }
}

TEST(RunPool, RunsAtOnceHaveAWorkspaceEachAndLaterOnesTakeThose) {
  RunPool pool;
  {
    const UnderWay first(pool), second(pool);
    EXPECT_NE(&first.workspace(), &second.workspace());
  }
  const UnderWay third(pool), fourth(pool);
  EXPECT_EQ(pool.made(), 2);
}

TEST(RunPool, AWorkspaceHasOneRunAtATime) {
  RunPool pool, another;
  Workspace given;
  for (int again = 0; again < 2; ++again) {
    const UnderWay run(pool, &given);
    EXPECT_EQ(&run.workspace(), &given);
    for (RunPool* other : {&pool, &another})
      EXPECT_NE(error_of([&] { const UnderWay second(*other, &given); }).find("one at a time"), std::string::npos);
  }
  EXPECT_EQ(pool.made(), 0);
}

TEST(RunPool, CancellingEndsTheRunThatIsUnderWay) {
  RunPool pool;
  Workspace given;
  given.cancel();
  {
    const UnderWay run(pool, &given);
    EXPECT_FALSE(is_cancelled(given)) << "there was no run";
    given.cancel();
    EXPECT_TRUE(is_cancelled(given));
  }
  const UnderWay run(pool, &given);
  EXPECT_FALSE(is_cancelled(given));
}

TEST(RunPool, ClosingCancelsRunsWaitsForThemAndRefusesMore) {
  RunPool pool;
  Workspace given;
  bool ended = false;  // by the runs' threads, read once they have ended
  std::thread runs([&] {
    const UnderWay own(pool), of_a_context(pool, &given);
    std::thread([&] {
      while (error_of([&] { const UnderWay refused(pool); }).empty()) {
      }
    }).join();  // another thread is closing the pool
    while (!is_cancelled(own.workspace()) || !is_cancelled(given)) {
    }
    ended = true;
  });
  while (pool.made() == 0) {
  }
  pool.close();
  EXPECT_TRUE(ended);
  runs.join();
  EXPECT_NE(error_of([&] { const UnderWay late(pool); }).find("no new runs"), std::string::npos);
  EXPECT_NE(error_of([&] { const UnderWay late(pool, &given); }).find("no new runs"), std::string::npos);
  pool.close();
}

TEST(RunPool, WhatNoRunHasCanBeDropped) {
  RunPool pool;
  EXPECT_FALSE(pool.drop_idle());
  { const UnderWay first(pool), second(pool); }
  const UnderWay kept(pool);
  EXPECT_TRUE(pool.drop_idle());
  EXPECT_EQ(pool.made(), 1);
  EXPECT_FALSE(pool.drop_idle());
}

TEST(Workspace, GrowsAndForgetsWhatWasBoundToTheOldMemory) {
  Workspace workspace;
  const std::shared_ptr<Device> device = open_device("cpu");
  workspace.reserve(device, 0, 1 << 10, 64, 2);
  EXPECT_EQ(workspace.bytes(), (1 << 10) + 2 * 64);
  EXPECT_NE(workspace.scratch(2)[0], workspace.scratch(2)[1]);
  workspace.bound.executable = std::make_shared<const char>();
  workspace.reserve(device, 0, 1 << 9, 32, 1);
  EXPECT_NE(workspace.bound.executable, nullptr);
  EXPECT_EQ(workspace.bytes(), (1 << 10) + 2 * 64);
  workspace.reserve(device, 0, 1 << 11, 32, 3);
  EXPECT_EQ(workspace.bound.executable, nullptr);
  EXPECT_EQ(workspace.bytes(), (1 << 11) + 2 * 64 + 32);
}

}  // namespace
}  // namespace hone::test
