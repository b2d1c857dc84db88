#include "memory/model_source/model_facts.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace smartmig {
namespace {

ModelFacts facts_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  return read_command_facts(words);
}

TEST(CommandFacts, HuggingFaceTrainer) {
  const ModelFacts f = facts_of(
      "python3 run_clm.py --model_name_or_path gpt2 --do_train --per-device-train-batch-size=4 --block_size 512 --bf16 "
      "--optim adamw_bnb_8bit --gradient_checkpointing True");
  EXPECT_EQ(f.program, "Hugging Face Trainer");
  EXPECT_EQ(f.text("model"), "gpt2");
  EXPECT_EQ(f.text("task"), "train");
  EXPECT_EQ(f.text("batch"), "4");
  EXPECT_EQ(f.text("context"), "512");
  EXPECT_EQ(f.text("precision"), "bf16");
  EXPECT_EQ(f.text("optimizer"), "adam-8bit");
  EXPECT_EQ(f.text("checkpointing"), "yes");
  EXPECT_EQ(f.find("batch")->from, "--per_device_train_batch_size");
}

TEST(CommandFacts, WhatTheTrainerIsNotToldIsItsDefaultAndSaidSo) {
  const ModelFacts f = facts_of("python3 run_glue.py --model_name_or_path bert-base-cased --fp16 False");
  EXPECT_EQ(f.text("batch"), "8");
  EXPECT_EQ(f.text("precision"), "fp32");
  EXPECT_EQ(f.text("vocabulary"), "0") << "a classifier";
  EXPECT_TRUE(f.find("batch")->from.starts_with("assumed"));
  EXPECT_FALSE(facts_of("python3 sft.py --model_name_or_path gpt2 --use_peft").refused.empty());
  EXPECT_FALSE(facts_of("python3 run_clm.py --model_name_or_path gpt2 --deepspeed z3.json").refused.empty());
  EXPECT_EQ(facts_of("python3 run_clm.py --model_name_or_path gpt2 --do_eval").text("task"), "infer");
}

TEST(CommandFacts, Servers) {
  const ModelFacts v = facts_of("vllm serve meta-llama/Meta-Llama-3-8B --max-model-len 4096 --dtype half");
  EXPECT_EQ(v.program, "vLLM");
  EXPECT_EQ(v.text("model"), "meta-llama/Meta-Llama-3-8B");
  EXPECT_EQ(v.text("context"), "4096");
  EXPECT_EQ(v.text("precision"), "fp16");
  EXPECT_EQ(v.text("utilisation"), "0.9");
  EXPECT_FALSE(facts_of("vllm serve gpt2 --tensor-parallel-size 2").refused.empty());
  const ModelFacts l = facts_of("./llama-server -m model.gguf -c 8192 -ngl 99");
  EXPECT_EQ(l.program, "llama.cpp");
  EXPECT_EQ(l.text("context"), "8192");
  EXPECT_FALSE(facts_of("llama-cli -m model.gguf -ngl 0").refused.empty());
  EXPECT_EQ(facts_of("text-generation-launcher --model-id gpt2 --quantize gptq").text("precision"), "int4");
}

TEST(CommandFacts, ImagesAndNanoGpt) {
  EXPECT_EQ(facts_of("torchrun train.py --model resnet50").text("batch"), "32");
  EXPECT_EQ(facts_of("python main.py -a resnet50 /data").text("batch"), "256");
  EXPECT_EQ(facts_of("python main.py -a resnet50 -b 64 --amp").text("precision"), "fp16");
  const ModelFacts n = facts_of("python train.py --n_layer=6 --n_head=6 --n_embd=384 --batch_size=64");
  EXPECT_EQ(n.program, "nanoGPT");
  EXPECT_EQ(n.text("context"), "1024");
}

TEST(CommandFacts, WhatIsNotKnownSaysNothing) {
  EXPECT_TRUE(facts_of("./program --model x --batch_size 3").empty()) << "no script";
  EXPECT_TRUE(facts_of("python3 plot.py --model gpt2 --batch_size 3").empty()) << "neither trains nor infers";
  EXPECT_TRUE(facts_of("sleep 3").empty());
  EXPECT_EQ(facts_of("python3 finetune.py --model gpt2 --batch_size 3").text("task"), "train");
}

TEST(CommandFacts, LinesOfAScript) {
  const ModelFacts f = read_script_facts(
      "#!/bin/sh\n# python3 run_clm.py --model_name_or_path opt-125m\nmodule load cuda; python3 run_clm.py \\\n"
      "  --model_name_or_path 'gpt2' \\\n  --block_size 256 && echo done\n");
  EXPECT_EQ(f.text("model"), "gpt2");
  EXPECT_EQ(f.text("context"), "256");
  EXPECT_EQ(read_command_facts({"sh", "-c", "python3 train.py --model gpt2 --batch_size 2"}).text("batch"), "2");
}

TEST(ModelFacts, TheEstimateNamesEveryFact) {
  ModelFacts f = facts_of("python3 run_clm.py --model_name_or_path gpt2 --bf16");
  ModelFacts told;
  told.set("batch", "2", "--batch");
  f.prefer(told);
  const auto e = estimate_from_facts(f, {*find_checkpoint("gpt2"), "", {}}, "known model gpt2");
  ASSERT_TRUE(e) << e.error().what;
  EXPECT_EQ(
      e->basis,
      "gpt2, 124.4 M parameters (known model gpt2), training (its flags), batch 2 (--batch), 1024 tokens (assumed: "
      "run_clm uses at most 1024 unless told otherwise), bf16 (--bf16), adamw (assumed: default of --optim); 10 % spare");
  MemoryQuestion q;
  q.model = *find_checkpoint("openai-community/gpt2");
  q.batch = 2;
  q.context = 1024;
  EXPECT_NEAR(e->mib, estimate_memory(q)->total_mib() * 1.1, 1);
}

TEST(ModelFile, ParametersOfKnownConfigurations) {
  const auto llama = read_hf_config(
      "config.json",
      R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
          "intermediate_size":14336,"vocab_size":128256,"max_position_embeddings":8192,"torch_dtype":"bfloat16"})");
  ASSERT_TRUE(llama) << llama.error().what;
  EXPECT_NEAR(llama->model.params, find_checkpoint("llama3-8b")->params, 1e6);
  EXPECT_EQ(llama->precision, "bf16");
  const auto gpt = read_hf_config(
      "config.json",
      R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"vocab_size":50257,"n_positions":1024})");
  ASSERT_TRUE(gpt);
  EXPECT_NEAR(gpt->model.params, find_checkpoint("gpt2")->params, 0.001 * gpt->model.params);
  const auto bert = read_hf_config(
      "config.json", R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
          "intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512})");
  ASSERT_TRUE(bert);
  EXPECT_NEAR(bert->model.params, find_checkpoint("bert-base")->params, 0.02 * bert->model.params) << "pooler and head";
}

TEST(ModelFile, WhatCannotBeIsRefusedInWords) {
  EXPECT_NE(read_hf_config("c", R"({"model_type":"unheard"})").error().what.find("'unheard'"), std::string::npos);
  EXPECT_NE(read_hf_config("c", R"({"model_type":"gpt2","n_embd":768})").error().what.find("layers"),
            std::string::npos);
  EXPECT_FALSE(read_hf_config("c", R"({"model_type":"gpt2","n_embd":-1,"n_layer":1,"n_head":1})"));
  EXPECT_FALSE(read_hf_config("c", "[1]"));
  EXPECT_FALSE(read_safetensors("s", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)));
  EXPECT_FALSE(read_safetensors("s", "short"));
  EXPECT_FALSE(read_gguf("g", "GGUF", 4));
  EXPECT_FALSE(read_gguf("g", std::string("GGUF\3\0\0\0\xff\xff\xff\xff\0\0\0\0\1\0\0\0\0\0\0\0", 24), 24));
}

TEST(ModelFile, TensorsAreCounted) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[3,4],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"F32","shape":[],"data_offsets":[24,28]}})";
  std::string bytes(8, '\0');
  bytes[0] = char(header.size());
  const auto file = read_safetensors("dir/x.safetensors", bytes + header);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->model.params, 13);
  EXPECT_EQ(file->precision, "fp16");
}

}  // namespace
}  // namespace smartmig
