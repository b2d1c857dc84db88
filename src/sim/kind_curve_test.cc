#include "sim/kind_curve.h"

#include <gtest/gtest.h>

#include "sim/trace_kinds.h"

namespace smartmig {
namespace {

TEST(KindCurve, SplitsNames) {
  EXPECT_EQ(split_kind("bert-train-8").model, "bert");
  EXPECT_EQ(split_kind("bert-train-8").phase, "train");
  EXPECT_EQ(split_kind("bert-train-8").batch, "8");
  EXPECT_EQ(split_kind("llm-decode-8").phase, "infer");
  EXPECT_EQ(split_kind("gemm-bf16").phase, "");
  EXPECT_EQ(split_kind("copy").model, "copy");
  EXPECT_EQ(split_kind("").model, "");
}

TEST(KindCurve, PlainProfileOfASizeAndWork) {
  const KindCurve curve = curve_of("llm-decode-8", "h200-141gb");
  EXPECT_EQ(curve.throughput[0], 1345.285) << "1g.18gb, not 1g.35gb";
  EXPECT_EQ(curve.largest, 7);
  EXPECT_EQ(curve.mem_mib, 3904);
  Job job;
  curve.set_work(job, 7, 10);
  EXPECT_EQ(job.work_on(7), std::chrono::seconds(10));
  EXPECT_EQ(job.work_on(1), from_seconds(10 * 4043.423 / 1345.285));
  EXPECT_EQ(job.work_on(5), kCannotRun);
  EXPECT_EQ(whole_gpu_work(job), std::chrono::seconds(10));
}

TEST(KindCurve, RestartsComeFromTheTable) {
  EXPECT_EQ(restart_of("bert-train"), std::chrono::seconds(120));
  EXPECT_EQ(restart_of("bert-train-8"), std::chrono::seconds(120));
  EXPECT_EQ(restart_of("resnet50-train-64"), std::chrono::seconds(250));
  EXPECT_EQ(restart_of("deepspeech2-train-2"), std::chrono::seconds(25));
  EXPECT_EQ(restart_of("gnn-train-64"), std::chrono::seconds(30));
  for (const char* kind : {"bert-infer", "llm-decode-8", "linear", "copy", ""})
    EXPECT_LT(restart_of(kind), Time{0}) << kind;
}

TEST(KindPicker, MapsModelNames) {
  KindPicker picker("");
  const auto kind = [&](const char* text, std::uint64_t hash = 0) {
    return picker.curves()[std::size_t(picker.pick(text, hash).curve)].kind;
  };
  EXPECT_EQ(picker.gpu(), "a100-40gb");
  EXPECT_EQ(kind("train:transformer_train32"), "transformer-train-32");
  EXPECT_EQ(kind("bert-train-8"), "bert-train-8");
  EXPECT_EQ(kind("bert-infer"), "bert-infer");
  EXPECT_EQ(kind("infer:llm_code"), "bert-infer");
  for (std::uint64_t hash = 0; hash < 40; ++hash) {
    for (const char* image :
         {"train:resnet101", "train:ResNet50", "train:vgg16", "train:alexnet", "train:inception_v3"})
      EXPECT_TRUE(kind(image, hash).starts_with("resnet-train-")) << image;
    EXPECT_TRUE(kind("train:mobilenet_v2", hash).starts_with("mobilenet-train-"));
    EXPECT_TRUE(kind("train:gpt2", hash).starts_with("transformer-train-"));
    EXPECT_TRUE(kind("train:deepspeech2", hash).starts_with("deepspeech2-train-"));
    EXPECT_EQ(picker.pick("train:bert", hash).how, KindPicker::How::kByName);
  }
}

TEST(KindPicker, HashesTheRestOverMeasuredKinds) {
  KindPicker picker("a100-40gb");
  std::vector<int> seen(picker.curves().size());
  for (std::uint64_t hash = 0; hash < 3000; ++hash)
    for (const char* text : {"train", "BE", "", "train:something_else"}) {
      const auto choice = picker.pick(text, hash);
      EXPECT_EQ(choice.how,
                std::string(text).starts_with("train") ? KindPicker::How::kByPhase : KindPicker::How::kByHash)
          << text;
      ++seen[std::size_t(choice.curve)];
    }
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], std::count(picker.curves()[i].kind.begin(), picker.curves()[i].kind.end(), '-') == 2 ? 400 : 0)
        << picker.curves()[i].kind;
}

TEST(KindPicker, InferenceStaysInference) {
  KindPicker picker("a100-40gb");
  for (std::uint64_t hash = 0; hash < 40; ++hash)
    for (const char* text : {"infer", "LS", "online_inference", "infer:something_else", "Evaluation"}) {
      const auto choice = picker.pick(text, hash);
      EXPECT_EQ(choice.how, KindPicker::How::kByPhase) << text;
      EXPECT_EQ(split_kind(picker.curves()[std::size_t(choice.curve)].kind).phase, "infer") << text;
    }
}

TEST(KindPicker, DefaultKindsStandInForUnknownModels) {
  KindPicker picker("a100-40gb");
  const auto kind = [&](const char* text) { return picker.curves()[std::size_t(picker.pick(text, 7).curve)].kind; };
  ASSERT_TRUE(picker.set_default_kind("inference=bert-infer,train=resnet50-train"));
  EXPECT_EQ(kind("infer:something_else"), "bert-infer");
  EXPECT_EQ(kind("train:something_else"), "resnet50-train");
  EXPECT_EQ(picker.pick("train", 1).how, KindPicker::How::kByDefault);
  EXPECT_EQ(picker.pick("", 1).how, KindPicker::How::kByHash) << "no default was given for rows without a class";
  EXPECT_TRUE(kind("train:bert").starts_with("bert-train")) << "a known model is not overruled";
  ASSERT_TRUE(picker.set_default_kind("cyclegan-train-1"));
  EXPECT_EQ(kind(""), "cyclegan-train-1");
  const auto wrong = picker.set_default_kind("bert-infr");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what.find("did you mean bert-infer"), std::string::npos) << wrong.error().what;
  EXPECT_FALSE(picker.set_default_kind("sleep=bert-infer"));
}

TEST(KindPicker, OtherGpusUseTheirOwnSpeeds) {
  KindPicker h200("h200-141gb"), a30("a30-24gb");
  EXPECT_EQ(h200.curves()[std::size_t(h200.pick("infer:llm_code", 3).curve)].kind, "llm-decode-8");
  EXPECT_EQ(h200.curves()[std::size_t(h200.pick("train:resnet101", 3).curve)].kind, "resnet50-train-64");
  EXPECT_EQ(a30.gpu(), "a100-40gb");
  EXPECT_EQ(a30.wanted_gpu(), "a30-24gb");
}

TEST(KindCurve, LaunchIsTheSameOnEverySize) {
  const auto table =
      SpeedTable::parse(LineReader::over("speeds",
                                         "kind,gpu,profile,throughput,unit,mem_mib,launch_s,source\n"
                                         "a,a100-40gb,1g.5gb,1,x/s,,9,s\na,a100-40gb,7g.40gb,4,x/s,,,s\n"));
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->launch_s("a", "a100-40gb"), 9);
  EXPECT_EQ(table->launch_s("a", "a30-24gb"), 0);
  Job job;
  curve_of("a", "a100-40gb", *table).set_work(job, 7, 15);
  EXPECT_EQ(job.work_on(7), from_seconds(15));
  EXPECT_EQ(job.work_on(1), from_seconds(9 + 4 * 6));
  curve_of("a", "a100-40gb", *table).set_work(job, 7, 5);  // shorter than a launch
  EXPECT_EQ(job.work_on(1), from_seconds(20));
  EXPECT_FALSE(SpeedTable::parse(
      LineReader::over("speeds", "kind,gpu,profile,throughput,unit,mem_mib,launch_s,source\na,g,1g.5gb,1,x,,-1,s\n")));
}

}  // namespace
}  // namespace smartmig
