// The tables of the store, by version. Version 0 kept specs next to the state and no instant of a job's end; version 1
// splits the spec off, so that a change of state does not rewrite a user's whole environment.
#pragma once
#include "queue/store/sqlite_db.h"
#include "queue/store/store.h"

namespace smartmig {

// Version of an open file: -1 where it has no tables at all. kInvalid: tables that are not ours.
Result<int> schema_version(SqliteDb& db);
Result<Ok> create_schema(SqliteDb& db);
// Backs up to PATH.vN-backup (an existing one of that version stays), then moves to kStoreVersion in one transaction.
Result<Ok> migrate_schema(SqliteDb& db, int from);
Error newer_schema(const std::string& path, int version);

// A whole copy by SQLite's backup interface, written beside `to` and renamed when it is complete and on the disk.
Result<Ok> copy_database(SqliteDb& from, const std::string& to);

}  // namespace smartmig
