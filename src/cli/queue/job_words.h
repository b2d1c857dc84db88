// Jobs of the daemon as text: the rows of `queue` and the lines of `wait` and `log`. Pure functions of the API's JSON
// and the current time (Unix seconds). Every number has a unit, and energy is marked as attributed.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace smartmig::cli {

using Json = nlohmann::json;

// Columns that align themselves: text to the left, numbers to the right.
class Columns {
 public:
  struct Head {
    std::string title;
    bool right = false;
  };
  explicit Columns(std::vector<Head> heads) : heads_(std::move(heads)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<Head> heads_;
  std::vector<std::vector<std::string>> rows_;
};
std::size_t columns_of(std::string_view text);  // code points
std::string comma_list(const Json& list);       // "0,1", "anna,ben"

std::string job_title(const Json& job);                   // "train", or "train[3]" for a task of an array
std::string place_words(const Json& job);                 // "0:3g.20gb@4", "-"
std::string time_words(const Json& job, double now);      // "12 min" run so far or in all, "waits 3 min"
std::string deadline_words(const Json& job, double now);  // "16:04, in 12 min", "16:04, 3 min late", "-"
std::string estimate_words(const Json& job);              // "20 min", "10 min guess"
std::string memory_words(const Json& job);                // "6.8 GiB, estimated: bert-base, ...", "not known yet"
std::string ending_words(const Json& job);                // "exit 3", "signal 9 (KILL)", or empty
// "job 7 train: done after 12 min on 0:3g.20gb@4, 33.1 kJ attributed (counter)"
std::string job_sentence(const Json& job, double now);
std::string job_table(const Json& jobs, double now, bool with_cost);
std::string job_csv(const Json& jobs);        // with a header; an unknown value is empty
std::string csv_text(std::string_view text);  // one field, in quotes where it needs them
int exit_code_of(const Json& job);            // of the job itself: its code, 128 + signal, or 1

}  // namespace smartmig::cli
