// Reads from a line of a job's output what it says of its work: the present size (tokens, length, batch), the largest
// size, how much of how much is done, memory that its tensors hold. It knows the forms that programs print:
//   step 30/200 | loss 2.13 | seq_len 384          iter 30: loss 2.13, batch 12        generated 512/2048 tokens
//    34%|###   | 341/1000 [00:12<00:24, 27it/s]    turn 7 (446 tokens in context)      mem 866 MiB allocated
// The word before a number, or else the word after it, tells what the number means. A/B is progress; for tokens it is
// also a size. Clocks, dates, rates, percentages and unknown words are skipped. Pure; takes any bytes.
#pragma once
#include <string_view>

namespace smartmig {

struct WorkWords {
  double size = -1, size_max = 0;  // size below 0, size_max 0: unknown
  double done = -1, of = 0;
  double part_done = -1, part_of = 0;  // of a pass between two steps: "eval 3/6" after "step 40/200"
  double held_mib = -1;
  bool any() const { return size >= 0 || done >= 0 || held_mib >= 0 || size_max > 0; }
  // Takes lines in order. The last line with a value decides, except for sizes: there the largest since `size` was last
  // taken counts. Progress towards a smaller end than the present one, which is not reached yet, is progress of a part.
  void add(const WorkWords& line);
};

WorkWords work_words_of(std::string_view line);
// Reads what a command announces of its work: "--max-new-tokens 512", "--max_seq_length=384", "--max_steps 200".
WorkWords words_of_option(std::string_view name, double value);

}  // namespace smartmig
