#include <hone/error.h>

#include <filesystem>
#include <new>
#include <utility>

#include "api/guarded.h"
#include "base/memory_limit.h"
#include "base/stop.h"
#include "formats/format.h"

namespace hone::api {

Error::Error(const std::string& text) : std::runtime_error(text) {}
Error::~Error() = default;
MemoryError::MemoryError(const std::string& text) : Error(text) {}
MemoryError::~MemoryError() = default;
FormatError::FormatError(const std::string& text, std::string of, size_t at)
    : Error(text), code(std::move(of)), position(at) {}
FormatError::~FormatError() = default;
Cancelled::Cancelled(const std::string& text) : std::runtime_error(text) {}
Cancelled::~Cancelled() = default;
InternalError::InternalError(const std::string& text) : std::logic_error(text) {}
InternalError::~InternalError() = default;

void rethrow() {
  try {
    throw;
  } catch (const hone::FormatError& error) {
    throw FormatError(error.what(), error.code, error.position);
  } catch (const hone::MemoryError& error) {
    throw MemoryError(error.what());
  } catch (const hone::Error& error) {
    throw Error(error.what());
  } catch (const Stopped& stopped) {
    throw Cancelled(stopped.what());
  } catch (const Bug& bug) {
    throw InternalError(bug.what());
  } catch (const std::filesystem::filesystem_error& error) {  // a path that the system refuses
    throw Error(error.path1().string() + ": " + error.code().message());
  } catch (const std::bad_alloc&) {
    throw MemoryError("out of memory");
  }
}

}  // namespace hone::api
