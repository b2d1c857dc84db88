// Result<T> holds the value or an Error that a person can act on. It has the subset of std::expected that we use.
// Rule: an expected failure is a Result whose sentence names the object and what to do; a bug is SMARTMIG_CHECK.
#pragma once
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace smartmig {

struct Error {
  enum Code { kInvalid, kNotFound, kBusy, kNoPermission, kUnsupported, kLost, kTimeout, kIo } code = kInvalid;
  std::string what;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    SMARTMIG_CHECK(state_.index() == 0, "value of a failed result: {}", std::get<1>(state_).what);
    return std::get<0>(state_);
  }
  const T& value() const { return const_cast<Result*>(this)->value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};

template <class... Args>
Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kInvalid, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error io_error(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kIo, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error not_found(fmt::format_string<Args...> format, Args&&... args) {
  return {Error::kNotFound, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace smartmig

// SMARTMIG_TRY(auto x, f());  returns f()'s error from the enclosing function, otherwise binds the value.
#define SMARTMIG_CONCAT_(a, b) a##b
#define SMARTMIG_CONCAT(a, b) SMARTMIG_CONCAT_(a, b)
#define SMARTMIG_TRY(declaration, ...) SMARTMIG_TRY_(SMARTMIG_CONCAT(try_result_, __LINE__), declaration, __VA_ARGS__)
#define SMARTMIG_TRY_(temporary, declaration, ...) \
  auto temporary = (__VA_ARGS__);                  \
  if (!temporary) return temporary.error();        \
  declaration = std::move(*temporary)
// SMARTMIG_RETURN_IF_ERROR(f());  is for results whose value is not needed.
#define SMARTMIG_RETURN_IF_ERROR(...)                             \
  do {                                                            \
    if (auto step_ = (__VA_ARGS__); !step_) return step_.error(); \
  } while (false)
