// The functions of Open MPI that are used, loaded when a process that mpirun started first asks for them. Its handles
// are addresses of objects that the library exports, and MPI's constants are those of its mpi.h, the same from version
// 2 to 5 (libmpi.so.40). Nothing of MPI is needed to build.
#pragma once

namespace hone {

struct OpenMpi {
  using Handle = void*;  // MPI_Comm, MPI_Datatype and MPI_Request are pointers
  static constexpr int kThreadFunneled = 1;
  static constexpr void* kNoStatuses = nullptr;

  int (*MPI_Init_thread)(int* argc, char*** argv, int required, int* provided);
  int (*MPI_Finalize)();
  int (*MPI_Comm_rank)(Handle communicator, int* rank);
  int (*MPI_Comm_size)(Handle communicator, int* size);
  int (*MPI_Isend)(const void* bytes, int count, Handle type, int to, int tag, Handle communicator, Handle* request);
  int (*MPI_Irecv)(void* bytes, int count, Handle type, int from, int tag, Handle communicator, Handle* request);
  int (*MPI_Testall)(int count, Handle* requests, int* done, void* statuses);
  Handle world, byte;
};

// Throws Error with the name of the package where there is none.
const OpenMpi& open_mpi();

}  // namespace hone
