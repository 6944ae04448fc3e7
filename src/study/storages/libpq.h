// PostgreSQL's client library, loaded when a study is first kept on a server: what needs none does without it.
#pragma once

namespace hone {

struct PgConnection;  // PGconn
struct PgResult;      // PGresult
struct PgOption {     // PQconninfoOption
  char *keyword, *envvar, *compiled, *val, *label, *dispchar;
  int dispsize;
};

// Its functions by their names, and the numbers of its enumerations that are used (libpq-fe.h, which never renumbers).
struct Libpq {
  static constexpr int kConnectionOk = 0;
  static constexpr int kCommandOk = 1, kTuplesOk = 2, kPipelineSync = 10, kPipelineAborted = 11;
  static constexpr int kSeverity = 'S', kSqlState = 'C', kMessage = 'M';

  PgOption* (*PQconninfoParse)(const char* text, char** error);
  void (*PQconninfoFree)(PgOption*);
  void (*PQfreemem)(void*);
  PgConnection* (*PQconnectdbParams)(const char* const* keys, const char* const* values, int expand);
  void (*PQfinish)(PgConnection*);
  int (*PQstatus)(const PgConnection*);
  char* (*PQerrorMessage)(const PgConnection*);
  const char* (*PQparameterStatus)(const PgConnection*, const char* name);
  void* (*PQsetNoticeProcessor)(PgConnection*, void (*)(void*, const char*), void*);
  int (*PQenterPipelineMode)(PgConnection*);
  int (*PQpipelineSync)(PgConnection*);
  int (*PQsendPrepare)(PgConnection*, const char* name, const char* sql, int count, const unsigned* types);
  int (*PQsendQueryPrepared)(PgConnection*, const char* name, int count, const char* const* values, const int* lengths,
                             const int* formats, int result_format);
  PgResult* (*PQgetResult)(PgConnection*);
  int (*PQresultStatus)(const PgResult*);
  char* (*PQresultErrorField)(const PgResult*, int field);
  int (*PQntuples)(const PgResult*);
  char* (*PQgetvalue)(const PgResult*, int row, int column);
  int (*PQgetlength)(const PgResult*, int row, int column);
  int (*PQgetisnull)(const PgResult*, int row, int column);
  void (*PQclear)(PgResult*);
};

// Throws Error with the name of the package where there is none, or one without pipelines (before 14).
const Libpq& libpq();

}  // namespace hone
