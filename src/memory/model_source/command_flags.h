// The flags of a command line and the words of a shell line, from which command_facts.cc reads models.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "memory/model_source/model_facts.h"

namespace smartmig {

// "--per-device-x" and "--per_device_x" are equal; of repeated flags the last counts. REQUIRES: the words outlive it.
class CommandFlags {
 public:
  explicit CommandFlags(const std::vector<std::string>& words);
  bool has(const std::string& name) const;  // given, and not given as "--fp16 False"
  std::string text(const std::string& name) const;
  // Sets `key` from the first of the flags that has a value.
  bool take(ModelFacts& facts, const char* key, std::initializer_list<const char*> names) const;
  std::string script() const;  // the first word that ends in .py, without its folders
  bool names(std::string_view program) const;
  std::string after(std::string_view program) const;  // the word after `program`

 private:
  const std::vector<std::string>& words_;
  std::map<std::string, std::string> values_;
};

// Splits a line with sh's quotes and backslashes, without expansions.
std::vector<std::string> words_of_line(std::string_view line);

}  // namespace smartmig
