// One SQLite connection and its prepared statements through the C interface. Errors are Results that name the file and
// say what to do. Thread rule: one thread at a time uses a connection.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig {

class SqliteDb {
 public:
  enum Mode { kReadOnly, kReadWrite };
  static Result<SqliteDb> open(const std::string& path, Mode mode);  // never creates a file

  Result<Ok> run(const char* sql);
  Result<std::int64_t> number(const char* sql);  // first column of the first row; 0 where there is none
  Result<std::string> text(const char* sql);
  Error error(std::string_view doing) const;  // of the last call that failed
  sqlite3* handle() const { return db_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  SqliteDb(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
};

// REQUIRES: what it was prepared for outlives it. bind() counts from 1, column reads from 0, as in SQLite.
class SqliteStatement {
 public:
  SqliteStatement() = default;
  static Result<SqliteStatement> prepare(SqliteDb& db, const char* sql);
  SqliteStatement& bind(int at, std::int64_t value);
  SqliteStatement& bind(int at, std::string_view value);  // must stay until step() has returned
  Result<bool> step();                                    // true: a row is there
  Result<Ok> run();                                       // to the end, then reset
  void reset();
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string text(int column) const;
  explicit operator bool() const { return bool(statement_); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  std::string path_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// The sentence for an SQLite result code, and kIo, kBusy or kInvalid as fits.
Error sqlite_error(int code, const std::string& path, std::string_view doing, const char* message);

}  // namespace smartmig
