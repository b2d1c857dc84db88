#include "cli/paper_tables.h"

namespace smartmig::cli {

const std::vector<PaperTable>& paper_static_tables() {
  static const std::string kBaseline = "static[1,1,2,3,3,5,5,10]";
  static const std::string kMixed = "static[3]", kSimilar = "static[5,5,5,5,9,9,9,9]";
  static const std::vector<PaperTable> tables = {
      {"20x", "8 GPUs, 20x, one day", "paper:20x", "",
       false,
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
      {"16x", "8 GPUs, 16x, one day", "paper:16x", "", false, {{"none+edf", 2.4, 16.58}, {"none+cedf", {}, {}}, {"search+cedf", {}, {}}}},
      {"12x", "8 GPUs, 12x, one day", "paper:12x", "", false, {{"none+edf", 2.0, 0.34}, {"none+cedf", {}, {}}, {"search+cedf", {}, {}}}},
      {"fig10", "Fig. 10: placers over 24 h queues", "paper:20x", "layouts not given: the paper's static", true,
       {{kBaseline + "+edf", 23.8, 4.1}, {kBaseline + "+met", 23.2, 4.0}, {kBaseline + "+cedf", 20.0, 1.4}, {kBaseline + "+random", 27.8, 3.1}}},
      {"fig6", "Fig. 6: queues of 1,000 jobs, rate 1", "fixed:rate=1,jobs=1000,mix=mixed", "layouts and slack not given: shape only", true,
       {{kMixed + "+edf", 77, 0}, {kMixed + "+met", 90, 0}, {kMixed + "+cedf", 86, 0}, {kMixed + "+random", 117, 0}}},
      {"fig7", "Fig. 7: queues of 1,000 jobs, rate 8", "fixed:rate=8,jobs=1000,mix=mixed", "layouts and slack not given: shape only", true,
       {{kMixed + "+edf", 28, 17.9}, {kMixed + "+met", 23.7, 13.9}, {kMixed + "+cedf", 24.2, 14.9}, {kMixed + "+random", 29.9, 18.5}}},
      {"fig8", "Fig. 8: mixed slice sizes within a GPU", "fixed:rate=3,jobs=1000,mix=mixed", "layout 3 on all GPUs; rate and slack not given: shape only", true,
       {{kMixed + "+edf", 29, 0.78}, {kMixed + "+met", 20.7, 0.01}, {kMixed + "+cedf", 25.1, 0.15}, {kMixed + "+random", 29.2, 0.76}}},
      {"fig9", "Fig. 9: similar slice sizes within a GPU", "fixed:rate=3,jobs=1000,mix=mixed", "layouts 5 and 9; rate and slack not given: shape only", true,
       {{kSimilar + "+edf", 23.1, 0.06}, {kSimilar + "+met", 17.9, 0}, {kSimilar + "+cedf", 17.0, 0}, {kSimilar + "+random", 24.6, 0.14}}},
  };
  return tables;
}

}  // namespace smartmig::cli
