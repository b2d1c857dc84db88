// Known flags: those of Hugging Face's example scripts and Trainer
// (huggingface.co/docs/transformers/main_classes/trainer), torchvision's references and PyTorch's imagenet example,
// nanoGPT, vLLM (docs.vllm.ai, engine arguments), text-generation-inference, llama.cpp (tools/server/README.md), with
// their documented defaults.
#include <algorithm>

#include "base/text.h"
#include "memory/model_source/command_flags.h"
#include "memory/model_source/model_facts.h"

namespace smartmig {
namespace {

std::string lower_dtype(const std::string& word) {
  const std::string w = lower(word);
  if (w == "bfloat16" || w == "bf16") return "bf16";
  if (w == "half" || w == "float16" || w == "fp16" || w == "16" || w == "16_mixed" || w == "16-mixed") return "fp16";
  if (w == "float" || w == "float32" || w == "fp32" || w == "32" || w == "no") return "fp32";
  return "";
}

void take_mixed_precision(const CommandFlags& flags, ModelFacts& facts, const char* why) {
  for (const char* name : {"--bf16", "--fp16", "--amp", "--half"})
    if (flags.has(name)) {
      facts.set("precision", std::string(name) == "--bf16" ? "bf16" : "fp16", name);
      return;
    }
  for (const char* name : {"--mixed_precision", "--precision", "--dtype", "--torch_dtype"})
    if (const std::string word = lower_dtype(flags.text(name)); !word.empty()) {
      facts.set("precision", word, name);
      return;
    }
  facts.assume("precision", "fp32", why);
}

void take_optimiser(const CommandFlags& flags, ModelFacts& facts, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string word = lower(flags.text(name));
    if (word.empty()) continue;
    const char* known = word.find("8bit") != word.npos        ? "adam-8bit"
                        : word.find("adafactor") != word.npos ? "adafactor"
                        : word.starts_with("adamw")           ? "adamw"
                        : word.starts_with("adam")            ? "adam"
                        : word.starts_with("sgd")             ? "momentum"
                        : word.find("momentum") != word.npos  ? "momentum"
                                                              : nullptr;
    if (known)
      facts.set("optimizer", known, name);
    else
      facts.refused = fmt::format("the memory of the optimiser '{}' ({}) is unknown", word.substr(0, 40), name);
    return;
  }
}

bool several_gpus(const CommandFlags& flags, std::initializer_list<const char*> names, ModelFacts& facts) {
  for (const char* name : names)
    if (const auto n = parse_double(flags.text(name)); n && *n > 1) {
      facts.refused = fmt::format("it uses {:g} GPUs ({})", *n, name);
      return true;
    }
  return false;
}

ModelFacts vllm(const CommandFlags& flags) {
  ModelFacts facts;
  facts.program = "vLLM";
  facts.set("task", "infer", "vLLM serves");
  if (!flags.take(facts, "model", {"--model"}))
    if (const std::string model = flags.after("serve"); !model.empty()) facts.set("model", model, "vllm serve");
  if (several_gpus(flags, {"--tensor_parallel_size", "-tp", "--pipeline_parallel_size"}, facts)) return facts;
  flags.take(facts, "context", {"--max_model_len"});
  facts.assume("batch", "1", "one request of full length at the least; vLLM uses what is left for more");
  const std::string quantised = lower(flags.text("--quantization") + flags.text("-q"));
  if (!quantised.empty())
    facts.set("precision",
              quantised.find("fp8") != quantised.npos || quantised.find("int8") != quantised.npos ? "int8" : "int4",
              "--quantization");
  else if (const std::string word = lower_dtype(flags.text("--dtype")); !word.empty())
    facts.set("precision", word, "--dtype");
  if (!flags.take(facts, "utilisation", {"--gpu_memory_utilization"}))
    facts.assume("utilisation", "0.9", "default of --gpu-memory-utilization");
  return facts;
}

ModelFacts text_generation(const CommandFlags& flags) {
  ModelFacts facts;
  facts.program = "text-generation-inference";
  facts.set("task", "infer", "it serves");
  flags.take(facts, "model", {"--model_id"});
  if (several_gpus(flags, {"--num_shard"}, facts)) return facts;
  flags.take(facts, "context", {"--max_total_tokens"});
  const std::string quantised = lower(flags.text("--quantize"));
  if (!quantised.empty())
    facts.set(
        "precision",
        quantised.find("fp8") != quantised.npos || quantised == "bitsandbytes" || quantised == "eetq" ? "int8" : "int4",
        "--quantize");
  facts.assume("batch", "1", "one request of full length at the least");
  return facts;
}

ModelFacts llama_cpp(const CommandFlags& flags) {
  ModelFacts facts;
  facts.program = "llama.cpp";
  facts.set("task", "infer", "llama.cpp");
  flags.take(facts, "model", {"-m", "--model"});
  for (const char* name : {"-ngl", "--n_gpu_layers", "--gpu_layers"})
    if (const std::string layers = flags.text(name); layers == "0")
      facts.refused = fmt::format("no layer is on the GPU ({} 0)", name);
  if (!flags.take(facts, "context", {"-c", "--ctx_size"})) facts.assume("context", "4096", "default of --ctx-size");
  facts.set("batch", "1", "the context is shared by its requests");
  return facts;
}

ModelFacts hugging_face(const CommandFlags& flags) {
  ModelFacts facts;
  facts.program = "Hugging Face Trainer";
  flags.take(facts, "model", {"--model_name_or_path"});
  for (const char* name : {"--use_peft", "--lora_r", "--use_lora", "--load_in_4bit", "--load_in_8bit"})
    if (flags.has(name)) facts.refused = fmt::format("adapters and quantised training are not modelled ({})", name);
  for (const char* name : {"--deepspeed", "--fsdp"})
    if (flags.has(name)) facts.refused = fmt::format("what is left on one GPU is not modelled ({})", name);
  const bool no_trainer = flags.script().find("no_trainer") != std::string::npos;
  const bool evaluates =
      !flags.has("--do_train") && !no_trainer && (flags.has("--do_eval") || flags.has("--do_predict"));
  facts.set("task", evaluates ? "infer" : "train",
            evaluates ? (flags.has("--do_eval") ? "--do_eval without --do_train" : "--do_predict without --do_train")
            : flags.has("--do_train") ? "--do_train"
                                      : "its flags");
  const char* batch = evaluates ? "--per_device_eval_batch_size" : "--per_device_train_batch_size";
  if (!flags.take(facts, "batch", {batch})) facts.assume("batch", "8", fmt::format("default of {}", batch));
  const std::string script = flags.script();
  const bool question = script.starts_with("run_qa");
  if (!flags.take(facts, "context",
                  {"--block_size", "--max_seq_length", "--max_length", "--model_max_length", "--max_source_length"})) {
    if (script.starts_with("run_glue")) facts.assume("context", "128", "default of run_glue");
    if (question) facts.assume("context", "384", "default of run_qa");
    if (script.starts_with("run_clm"))
      facts.assume("context", "1024", "run_clm uses at most 1024 unless told otherwise");
  }
  for (const char* start : {"run_glue", "run_qa", "run_ner", "run_classification", "run_swag", "run_xnli"})
    if (script.starts_with(start)) facts.set("vocabulary", "0", script);
  take_mixed_precision(flags, facts, "neither --fp16 nor --bf16");
  if (!evaluates) {
    take_optimiser(flags, facts, {"--optim"});
    facts.assume("optimizer", "adamw", "default of --optim");
    if (flags.has("--gradient_checkpointing")) facts.set("checkpointing", "yes", "--gradient_checkpointing");
  }
  return facts;
}

ModelFacts nano_gpt(const CommandFlags& flags) {
  ModelFacts facts;
  facts.program = "nanoGPT";
  for (const auto& [key, name] :
       {std::pair("layers", "--n_layer"), std::pair("hidden", "--n_embd"), std::pair("heads", "--n_head")})
    flags.take(facts, key, {name});
  facts.set("model", "gpt", "--n_layer, --n_head, --n_embd");
  facts.set("task", "train", flags.script());
  if (!flags.take(facts, "batch", {"--batch_size"})) facts.assume("batch", "12", "nanoGPT's default");
  if (!flags.take(facts, "context", {"--block_size"})) facts.assume("context", "1024", "nanoGPT's default");
  if (const std::string word = lower_dtype(flags.text("--dtype")); !word.empty())
    facts.set("precision", word, "--dtype");
  facts.assume("precision", "bf16", "nanoGPT's default");
  facts.assume("optimizer", "adamw", "nanoGPT's");
  facts.assume("vocabulary", "50304", "nanoGPT's default");
  return facts;
}

bool trains_by_name(const std::string& script) {
  const std::string name = lower(script);
  return name.find("train") != name.npos || name.find("finetune") != name.npos || name.find("fine_tune") != name.npos;
}
bool infers_by_name(const std::string& script) {
  const std::string name = lower(script);
  for (const char* word : {"infer", "generate", "serve", "predict", "eval", "decode", "chat"})
    if (name.find(word) != name.npos) return true;
  return false;
}

// Image models: torchvision's references (--model, batches of 32), PyTorch's imagenet example (-a, batches of 256).
ModelFacts images(const CommandFlags& flags, const char* flag) {
  ModelFacts facts;
  const bool example = std::string_view(flag) != "--model";
  facts.program = example ? "PyTorch's imagenet example" : "torchvision's references";
  facts.set("model", flags.text(flag), flag);
  const bool evaluates = flags.has("--test_only") || flags.has("--evaluate") || flags.has("-e");
  facts.set("task", evaluates ? "infer" : "train", evaluates ? "its flags" : flags.script());
  if (!flags.take(facts, "batch", {"-b", "--batch_size"}))
    facts.assume("batch", example ? "256" : "32", "default of " + facts.program);
  take_mixed_precision(flags, facts, "no --amp");
  if (evaluates) return facts;
  take_optimiser(flags, facts, {"--opt", "--optimizer"});
  facts.assume("optimizer", "momentum", "default of " + facts.program);
  return facts;
}

ModelFacts plain_script(const CommandFlags& flags, const std::string& script) {
  ModelFacts facts;
  if (!flags.take(
          facts, "model",
          {"--model_name", "--model_id", "--base_model", "--pretrained_model_name_or_path", "--model", "--arch"}))
    return {};
  if (!flags.take(facts, "batch", {"--batch_size", "--batch", "--micro_batch_size", "--train_batch_size", "-b"}))
    return {};
  const bool trains = trains_by_name(script);
  if (!trains && !infers_by_name(script)) return {};
  facts.program = script;
  facts.set("task", trains ? "train" : "infer", "the name " + script);
  flags.take(facts, "context",
             {"--seq_len", "--seq_length", "--sequence_length", "--max_seq_len", "--max_seq_length", "--max_length",
              "--block_size", "--context"});
  take_mixed_precision(flags, facts, "no flag names another");
  if (!trains) return facts;
  take_optimiser(flags, facts, {"--optimizer", "--optim", "--opt"});
  facts.assume("optimizer", "adamw", "no flag names another");
  if (flags.has("--gradient_checkpointing")) facts.set("checkpointing", "yes", "--gradient_checkpointing");
  return facts;
}

}  // namespace

std::string script_of(const std::vector<std::string>& command) { return CommandFlags(command).script(); }
std::string task_by_name(const std::string& script) {
  return trains_by_name(script) ? "train" : infers_by_name(script) ? "infer" : "";
}

ModelFacts read_command_facts(const std::vector<std::string>& command) {
  constexpr std::size_t kMostWords = 4096;
  if (command.empty() || command.size() > kMostWords) return {};
  // A shell line in one word, as after `sh -c`.
  if (command.size() == 3 && command[1] == "-c" && command[0].ends_with("sh")) return read_script_facts(command[2]);
  const CommandFlags flags(command);
  const std::string script = flags.script(), program = command[0].substr(command[0].rfind('/') + 1);
  ModelFacts facts;
  if ((flags.names("vllm") && flags.names("serve")) || flags.text("-m").starts_with("vllm.entrypoints"))
    facts = vllm(flags);
  else if (flags.names("text-generation-launcher"))
    facts = text_generation(flags);
  else if (program.starts_with("llama-") && (!flags.text("-m").empty() || !flags.text("--model").empty()))
    facts = llama_cpp(flags);
  else if (!flags.text("--model_name_or_path").empty())
    facts = hugging_face(flags);
  else if (!flags.text("--n_layer").empty() && !flags.text("--n_embd").empty() && !flags.text("--n_head").empty() &&
           !script.empty())
    facts = nano_gpt(flags);
  else if (script == "main.py" && (!flags.text("-a").empty() || !flags.text("--arch").empty()))
    facts = images(flags, flags.text("-a").empty() ? "--arch" : "-a");
  else if (const auto* known = find_checkpoint(flags.text("--model"));
           script == "train.py" && known && known->vocabulary == 0)
    facts = images(flags, "--model");
  else if (!script.empty())
    facts = plain_script(flags, script);
  return facts.find("model") ? facts : ModelFacts();
}

ModelFacts read_script_facts(std::string_view script) {
  constexpr std::size_t kMostScript = 1u << 20;
  std::string joined;  // joins lines that end in a backslash
  for (const std::string_view line : split(script.substr(0, kMostScript), '\n')) {
    if (line.ends_with('\\')) {
      joined += std::string(line.substr(0, line.size() - 1)) + " ";
      continue;
    }
    joined += line;
    const auto words = words_of_line(joined);
    joined.clear();
    if (words.size() < 2 || (words.size() == 3 && words[1] == "-c")) continue;
    if (ModelFacts facts = read_command_facts(words); !facts.empty()) return facts;
  }
  return {};
}

}  // namespace smartmig
