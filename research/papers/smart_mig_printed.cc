#include "research/papers/smart_mig_printed.h"

namespace smartmig {

const std::vector<PaperTable>& paper_static_tables() {
  static const std::string kBaseline = "static[1,1,2,3,3,5,5,10]";
  static const std::vector<PaperTable> tables = {
      {"20x",
       "8 GPUs, 20x, one day",
       "paper:20x",
       {{"none+edf", 3.1, 96.67},
        {"none+cedf", {}, {}},
        {"none+dedicated", {}, {}},
        {kBaseline + "+cedf", 2.57, 1.32},
        {kBaseline + "+edf", {}, {}},
        {kBaseline + "+met", {}, {}},
        {kBaseline + "+met-w", {}, {}},
        {kBaseline + "+random", {}, {}},
        {kBaseline + "+fifo", {}, {}},
        {"static[3]+edf", 2.75, 1.67},
        {"search+cedf", {}, {}},
        {"twice+cedf", {}, {}}}},
      {"16x",
       "8 GPUs, 16x, one day",
       "paper:16x",
       {{"none+edf", 2.4, 16.58}, {"none+cedf", {}, {}}, {"search+cedf", {}, {}}}},
      {"12x",
       "8 GPUs, 12x, one day",
       "paper:12x",
       {{"none+edf", 2.0, 0.34}, {"none+cedf", {}, {}}, {"search+cedf", {}, {}}}},
  };
  return tables;
}

}  // namespace smartmig
