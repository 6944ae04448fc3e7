#include "mpi/open_mpi.h"

#include <dlfcn.h>

#include "base/error.h"

namespace hone {
namespace {

template <class Symbol>
void find(void* library, const char* name, Symbol& symbol) {
  symbol = reinterpret_cast<Symbol>(::dlsym(library, name));
  if (!symbol) fail("libmpi.so.40 has no {}: it is not Open MPI's. Install package openmpi-bin", name);
}

OpenMpi load() {
  // Its plugins take symbols of the library for granted, so that it is not RTLD_LOCAL.
  void* library = ::dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* why = ::dlerror();
    fail("training by several processes needs Open MPI (package openmpi-bin): {}", why ? why : "not found");
  }
  OpenMpi mpi{};
#define HONE_FIND(name) find(library, #name, mpi.name)
  HONE_FIND(MPI_Init_thread);
  HONE_FIND(MPI_Finalize);
  HONE_FIND(MPI_Comm_rank);
  HONE_FIND(MPI_Comm_size);
  HONE_FIND(MPI_Isend);
  HONE_FIND(MPI_Irecv);
  HONE_FIND(MPI_Testall);
#undef HONE_FIND
  find(library, "ompi_mpi_comm_world", mpi.world);
  find(library, "ompi_mpi_byte", mpi.byte);
  return mpi;
}

}  // namespace

const OpenMpi& open_mpi() {
  static const OpenMpi loaded = load();
  return loaded;
}

}  // namespace hone
