// What a command line says by its flags, and the words of a line of shell: what command_facts.cc reads models from.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_source/model_facts.h"

namespace smartmig {

// "--per-device-x" and "--per_device_x" are alike; of several of one name the last counts. REQUIRES: the words outlive it.
class CommandFlags {
 public:
  explicit CommandFlags(const std::vector<std::string>& words);
  bool has(const std::string& name) const;  // given, and not as "--fp16 False"
  std::string text(const std::string& name) const;
  // Sets `key` by the first of the flags that has a value.
  bool take(ModelFacts& facts, const char* key, std::initializer_list<const char*> names) const;
  std::string script() const;  // the part after the last slash of the first word that ends in .py
  bool names(std::string_view program) const;
  std::string after(std::string_view program) const;  // the word that follows it

 private:
  const std::vector<std::string>& words_;
  std::map<std::string, std::string> values_;
};

// Quotes and backslashes as sh has them, nothing expanded.
std::vector<std::string> words_of_line(std::string_view line);

}  // namespace smartmig
