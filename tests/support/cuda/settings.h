// What an emulated driver is to be like: $HONE_EMULATED_CUDA when it is initialised, or what a test sets (control.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::emulated_cuda {

// As text: "devices=2,capability=8.0,memory=64M,fail_allocation=3". Counts begin at 1; 0 is never.
struct Settings {
  int devices = 1;
  int major = 9, minor = 0;           // capability=9.0, of all devices
  int64_t memory = int64_t{1} << 30;  // bytes of each; memory=64M
  int driver = 12040;                 // driver=12.4
  int multiprocessors = 16;
  int64_t fail_allocation = 0;  // the nth allocation of device memory finds none left
  int64_t refuse_launch = 0;    // the nth launch is refused: too many resources. Nothing else is wrong
  int64_t fault_launch = 0;     // the nth launch fails while it runs, and with it the context
  int64_t lose_device = 0;      // the device is gone from the nth launch on
  int64_t spill_above = 0;      // kernels that name more registers than this spill the rest
  int64_t aim_at = 0;           // the same, where the text does not say how many blocks there are to be at a time
  bool backwards = false;       // order of blocks and warps
  bool tells = false;           // what kernels do wrong goes to standard error; tells=1
  bool truncated = false;       // products are cut off, not rounded once
};

// Throws Error that names the key which is wrong.
Settings parse_settings(std::string_view text);

}  // namespace hone::emulated_cuda
