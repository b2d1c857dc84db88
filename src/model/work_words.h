// What a line of a job's output says of its work: the size at hand (tokens, length, batch), the most it will be, how much is done
// of how much, memory that its tensors hold. Read from the forms that programs print:
//   step 30/200 | loss 2.13 | seq_len 384          iter 30: loss 2.13, batch 12        generated 512/2048 tokens
//    34%|###   | 341/1000 [00:12<00:24, 27it/s]    turn 7 (446 tokens in context)      mem 866 MiB allocated
// A number is taken for what the word before it names, or else the one after it; A/B is progress, and of tokens a size too. Clocks,
// dates, rates, percentages and words that are not known are passed over. Pure; any bytes.
#pragma once
#include <string_view>

namespace smartmig {

struct WorkWords {
  double size = -1, size_max = 0;  // below 0, and 0: not said
  double done = -1, of = 0;
  double part_done = -1, part_of = 0;  // of a pass between two steps: "eval 3/6" after "step 40/200"
  double held_mib = -1;
  bool any() const { return size >= 0 || done >= 0 || held_mib >= 0 || size_max > 0; }
  // Of lines in order: the last that said each counts, and of sizes since `size` was taken away the largest. Progress to a smaller end
  // than that which stands, and is not reached, is that of a part.
  void add(const WorkWords& line);
};

WorkWords work_words_of(std::string_view line);
// What a command announces of its work: "--max-new-tokens 512", "--max_seq_length=384", "--max_steps 200".
WorkWords words_of_option(std::string_view name, double value);

}  // namespace smartmig
