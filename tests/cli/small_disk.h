// A disk of a few kilobytes: a tmpfs that only a child process of ours sees, so that nothing of it outlives the test.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace hone {

enum class OnSmallDisk { passed, failed, not_allowed };

// Runs `body` in a child process in which `folder` is an empty file system of `bytes`. Its expectations print there and
// count here. not_allowed: this system lets us mount nothing, not even in a namespace of our own.
template <class Body>
OnSmallDisk on_small_disk(const std::string& folder, int64_t bytes, Body&& body) {
  constexpr int kFailed = 1, kNotAllowed = 2;
  const pid_t child = ::fork();
  CHECK(child >= 0, "can't fork");
  if (child == 0) {
    const int own_user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
    if (::unshare(CLONE_NEWNS | own_user) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()) != 0)
      ::_exit(kNotAllowed);
    int code = kFailed;
    try {
      body();
      code = testing::Test::HasFailure() ? kFailed : 0;
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child, "the child is gone");
  if (!WIFEXITED(status)) return OnSmallDisk::failed;
  return WEXITSTATUS(status) == 0             ? OnSmallDisk::passed
         : WEXITSTATUS(status) == kNotAllowed ? OnSmallDisk::not_allowed
                                              : OnSmallDisk::failed;
}

}  // namespace hone
