#include "study/storages/libpq.h"

#include "base/shared_library.h"

namespace hone {
namespace {

Libpq load() {
  const SharedLibrary library("libpq.so.5", SharedLibrary::Symbols::own,
                              "studies on a PostgreSQL server need its client library (package libpq5)");
  Libpq pq{};
#define HONE_FIND(name) \
  library.find(#name, pq.name, "it is older than version 14. Install a newer one (package libpq5)")
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
