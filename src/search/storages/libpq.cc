#include "search/storages/libpq.h"

#include <dlfcn.h>

#include "base/error.h"

namespace hone {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function) fail("libpq.so.5 has no {}: it is older than version 14. Install a newer one (package libpq5)", name);
}

Libpq load() {
  void* library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    fail("studies on a PostgreSQL server need its client library (package libpq5): {}", why ? why : "not found");
  }
  Libpq pq{};
#define HONE_FIND(name) find(library, #name, pq.name)
  HONE_FIND(PQconninfoParse);
  HONE_FIND(PQconninfoFree);
  HONE_FIND(PQfreemem);
  HONE_FIND(PQconnectdbParams);
  HONE_FIND(PQfinish);
  HONE_FIND(PQstatus);
  HONE_FIND(PQerrorMessage);
  HONE_FIND(PQparameterStatus);
  HONE_FIND(PQsetNoticeProcessor);
  HONE_FIND(PQenterPipelineMode);
  HONE_FIND(PQpipelineSync);
  HONE_FIND(PQsendPrepare);
  HONE_FIND(PQsendQueryPrepared);
  HONE_FIND(PQgetResult);
  HONE_FIND(PQresultStatus);
  HONE_FIND(PQresultErrorField);
  HONE_FIND(PQntuples);
  HONE_FIND(PQgetvalue);
  HONE_FIND(PQgetlength);
  HONE_FIND(PQgetisnull);
  HONE_FIND(PQclear);
#undef HONE_FIND
  return pq;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq loaded = load();
  return loaded;
}

}  // namespace hone
