#include "queue/store/sqlite_db.h"

#include "base/errors.h"

namespace smartmig {

Error sqlite_error(int code, const std::string& path, std::string_view doing, const char* message) {
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return io_error(
          "cannot write to {}: the disk or the store's size limit is full; free some space "
          "(nothing was changed)",
          path);
    case SQLITE_READONLY:
      return io_error("cannot {} {}: it or its directory is read-only; make it writable for the daemon's user", doing,
                      path);
    case SQLITE_NOTADB:
      return invalid("{} is not a smartmig store, because it is not an SQLite file", path);
    case SQLITE_CORRUPT:
      return io_error("cannot {} {}: the file is damaged ({}); restore a backup with smartmig restore", doing, path,
                      message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return busy_error("cannot {} {}: another program uses it; stop that program first", doing, path);
    default:
      return io_error("cannot {} {}: {}", doing, path, message);
  }
}

Result<SqliteDb> SqliteDb::open(const std::string& path, Mode mode) {
  sqlite3* db = nullptr;
  const int flags = (mode == kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  SqliteDb opened(path, db);
  if (code != SQLITE_OK) return sqlite_error(code, path, "open", db ? sqlite3_errmsg(db) : "no memory");
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, 5000);
  return opened;
}

Error SqliteDb::error(std::string_view doing) const {
  return sqlite_error(sqlite3_extended_errcode(handle()), path_, doing, sqlite3_errmsg(handle()));
}

Result<Ok> SqliteDb::run(const char* sql) {
  const int code = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(code, path_, "write to", sqlite3_errmsg(handle()));
  return Ok{};
}

Result<std::int64_t> SqliteDb::number(const char* sql) {
  SMARTMIG_TRY(auto statement, SqliteStatement::prepare(*this, sql));
  SMARTMIG_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Result<std::string> SqliteDb::text(const char* sql) {
  SMARTMIG_TRY(auto statement, SqliteStatement::prepare(*this, sql));
  SMARTMIG_TRY(const bool row, statement.step());
  return row ? statement.text(0) : std::string();
}

Result<SqliteStatement> SqliteStatement::prepare(SqliteDb& db, const char* sql) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(db.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  SqliteStatement statement;
  statement.path_ = db.path();
  statement.statement_.reset(made);
  if (code != SQLITE_OK) return sqlite_error(code, db.path(), "read", sqlite3_errmsg(db.handle()));
  return statement;
}

SqliteStatement& SqliteStatement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), at, value);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int at, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), at, value.data() ? value.data() : "", value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(statement_.get());
  // The library counts BEGIN and COMMIT as reading.
  const std::string_view sql = sqlite3_sql(statement_.get());
  const bool reads = sqlite3_stmt_readonly(statement_.get()) && !sql.starts_with("BEGIN") && !sql.starts_with("COMMIT");
  const Error error = sqlite_error(code, path_, reads ? "read" : "write to", sqlite3_errmsg(db));
  sqlite3_reset(statement_.get());
  return error;
}

Result<Ok> SqliteStatement::run() {
  for (;;) {
    const auto row = step();
    if (!row || !*row) {
      reset();
      if (!row) return row.error();
      return Ok{};
    }
  }
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string SqliteStatement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text ? std::string(text, std::size_t(sqlite3_column_bytes(statement_.get(), column))) : std::string();
}

}  // namespace smartmig
