// The memory of a device is gone, with all that lay there.
#pragma once

#include "base/error.h"

namespace hone {

// Says what happened to which device. The device works again from then on (Device::generation()).
class DeviceLost : public Error {
  using Error::Error;
};

}  // namespace hone
