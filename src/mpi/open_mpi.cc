#include "mpi/open_mpi.h"

#include "base/shared_library.h"

namespace hone {
namespace {

OpenMpi load() {
  // Its plugins take symbols of the library for granted.
  const SharedLibrary library("libmpi.so.40", SharedLibrary::Symbols::shared,
                              "training by several processes needs Open MPI (package openmpi-bin)");
  constexpr const char* kOther = "it is not Open MPI's. Install package openmpi-bin";
  OpenMpi mpi{};
#define HONE_FIND(name) library.find(#name, mpi.name, kOther)
  HONE_FIND(MPI_Init_thread);
  HONE_FIND(MPI_Finalize);
  HONE_FIND(MPI_Comm_rank);
  HONE_FIND(MPI_Comm_size);
  HONE_FIND(MPI_Isend);
  HONE_FIND(MPI_Irecv);
  HONE_FIND(MPI_Testall);
#undef HONE_FIND
  library.find("ompi_mpi_comm_world", mpi.world, kOther);
  library.find("ompi_mpi_byte", mpi.byte, kOther);
  return mpi;
}

}  // namespace

const OpenMpi& open_mpi() {
  static const OpenMpi loaded = load();
  return loaded;
}

}  // namespace hone
