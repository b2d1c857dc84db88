#include "sim/traces/trace_formats.h"

#include "base/text.h"
#include "sim/batsim_json.h"
#include "sim/job_csv.h"
#include "sim/sacct.h"
#include "sim/swf.h"
#include "sim/traces/migbench.h"
#include "sim/traces/trace_readers.h"

namespace smartmig {
namespace {

Result<Workload> read_job_rows(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  SMARTMIG_TRY(LineReader lines, source.open());
  return read_job_csv(std::move(lines), options);
}

Result<Workload> read_swf_lines(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  SMARTMIG_TRY(LineReader lines, source.open());
  return read_swf(std::move(lines), options);
}

Result<Workload> read_sacct_lines(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  SMARTMIG_TRY(LineReader lines, source.open());
  return read_sacct(std::move(lines), options);
}

Result<Workload> read_batsim(const TraceSource& source, const TraceFormat&, const LoadOptions& options) {
  SMARTMIG_TRY(const std::string text, source.whole());
  return read_batsim_json(source.name, text, options);
}

// In files of ten fields, the fourth is the status and the others are names and numbers.
bool looks_like_pai_tasks(const std::vector<std::string_view>& fields, char delimiter) {
  if (delimiter != ',' || fields.size() != 10) return false;
  for (const char* status : {"Terminated", "Running", "Failed", "Waiting", "Interrupted"})
    if (fields[3] == status) return true;
  return false;
}

}  // namespace

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> table = {
      {"job-csv",
       "smartmig's own job CSV",
       {"job_id", "submit_s", "work_1g_s"},
       "",
       "docs/workloads.md",
       read_job_rows},
      {"trace-csv",
       "common columns of converted traces",
       {"submit_time_s", "duration_s"},
       "submit=submit_time_s:s,duration=duration_s:s,gpus=num_gpus,share=gpu_milli:milli,memory=gpu_mem_mib:mib,"
       "kind=job_kind,due_in=deadline_s:s,tokens_in=context_tokens,tokens_out=generated_tokens",
       "docs/workloads.md"},
      {"fields",
       "columns that bear the names of the fields of --map, in their first units",
       {"submit", "duration"},
       "id=id,submit=submit,start=start,end=end,duration=duration,deadline=deadline,due_in=due_in,slo=slo,gpus=gpus,"
       "share=share,copies=copies,memory=memory,kind=kind,batch=batch,class=class,tokens_in=tokens_in,"
       "tokens_out=tokens_out",
       "docs/workloads.md"},
      {"philly",
       "Microsoft Philly cluster_job_log (ATC'19)",
       {},
       "",
       "github.com/msr-fiddle/philly-traces README.md",
       read_philly_json},
      {"alibaba-2020",
       "Alibaba PAI pai_task_table.csv (NSDI'22)",
       {"job_name", "task_name", "inst_num", "start_time", "end_time", "plan_gpu"},
       "id=job_name,submit=start_time:s,start=start_time:s,end=end_time:s,gpus=plan_gpu:percent,copies=inst_num,"
       "class=task_name",
       "github.com/alibaba/clusterdata cluster-trace-gpu-v2020/data/pai_task_table.header, README.md",
       nullptr,
       {"job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
        "gpu_type"},
       looks_like_pai_tasks},
      {"alibaba-2023",
       "Alibaba openb_pod_list_*.csv (FGD, ATC'23)",
       {"name", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time", "scheduled_time"},
       "id=name,submit=creation_time:s,start=scheduled_time:s,end=deletion_time:s,gpus=num_gpu,share=gpu_milli:milli,"
       "class=qos",
       "github.com/alibaba/clusterdata cluster-trace-gpu-v2023/README.md"},
      {"alibaba-2025",
       "Alibaba disaggregated_DLRM_trace.csv (NSDI'25)",
       {"instance_sn", "role", "app_name", "gpu_request", "creation_time", "scheduled_time", "deletion_time"},
       "id=instance_sn,submit=creation_time:s,start=scheduled_time:s,end=deletion_time:s,gpus=gpu_request,"
       "kind=@recommendation,class=@inference",
       "github.com/alibaba/clusterdata cluster-trace-gpu-v2025/README.md, disaggregated_DLRM_trace.csv"},
      {"alibaba-2026",
       "Alibaba asi_opensource_pod_hourly, exported to CSV",
       {"pod_id", "state_public", "job_type_public", "model_type_public", "gpu_request", "used_gpu_hours", "day",
        "hour"},
       "",
       "github.com/alibaba/clusterdata cluster-trace-gpu-v2026/docs/schema.md",
       read_alibaba_hourly},
      {"alibaba-2026-jobs",
       "Alibaba asi_opensource_job_execution_summary, exported to CSV",
       {"pod_id", "job_type_public", "model_type_public", "gpu_request", "duration_hours"},
       "id=pod_id,duration=duration_hours:h,gpus=gpu_request,kind=model_type_public,class=job_type_public",
       "github.com/alibaba/clusterdata cluster-trace-gpu-v2026/docs/schema.md"},
      {"acme",
       "Shanghai AI Lab Acme trace_seren.csv, trace_kalos.csv (NSDI'24)",
       {"job_id", "node_num", "gpu_num", "type", "state", "submit_time", "start_time", "end_time", "duration",
        "gpu_time"},
       "id=job_id,submit=submit_time,start=start_time,end=end_time,duration=duration:s,gpus=gpu_num,class=type",
       "github.com/InternLM/AcmeTrace README.md"},
      {"helios",
       "SenseTime Helios cluster_log.csv (SC'21)",
       {"job_id", "vc", "gpu_num", "state", "submit_time", "start_time", "end_time", "duration"},
       "id=job_id,submit=submit_time,start=start_time,end=end_time,duration=duration:s,gpus=gpu_num,class=@training",
       "github.com/S-Lab-System-Group/HeliosData README.md"},
      {"chronus",
       "Chronus trace_job_Philly_*.csv (SoCC'21), times in minutes",
       {"job_id", "num_gpu", "submit_time", "model_name", "duration", "expect_time_list", "best_effort"},
       "id=job_id,submit=submit_time:min,duration=duration:min,gpus=num_gpu,kind=model_name,class=@training",
       "github.com/S-Lab-System-Group/ChronusArtifact code/data/exp/trace_job_Philly_SLO.csv, ..._MIX1.csv",
       read_chronus},
      {"elasticflow",
       "ElasticFlow traces_for_ElasticFlow/*.csv (ASPLOS'23)",
       {"job_id", "submit_time", "model_name", "ddl", "batch_size", "num_gpu", "duration"},
       "id=job_id,submit=submit_time:s,duration=duration:s,deadline=ddl:s,gpus=num_gpu,kind=model_name,batch=batch_size,"
       "class=@training",
       "github.com/pkusys/ElasticFlow ElasticFlow/traces_for_ElasticFlow/philly_103959.csv"},
      {"sia",
       "Sia and Pollux workload-*.csv (SOSP'23, OSDI'21)",
       {"name", "time", "application", "num_replicas", "batch_size"},
       "id=name,submit=time:s,kind=application,batch=batch_size,class=@training",
       "github.com/siasosp23/artifacts sia-simulator/workloads/philly/workload-1.csv",
       read_sia},
      {"azure-llm",
       "Azure LLM inference 2023 and 2024",
       {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
       "submit=TIMESTAMP:date,tokens_in=ContextTokens,tokens_out=GeneratedTokens,kind=@llm,class=@inference",
       "github.com/Azure/AzurePublicDataset AzureLLMInferenceDataset2023.md, AzureLLMInferenceDataset2024.md"},
      {"mit-supercloud",
       "MIT SuperCloud slurm-log.csv",
       {"id_job", "time_submit", "time_start", "time_end", "tres_alloc"},
       "id=id_job,submit=time_submit:s,start=time_start:s,end=time_end:s,gpus=tres_alloc:tres",
       "arXiv 2108.02037; columns as ExaDigiT RAPS raps/dataloaders/mit_supercloud reads them"},
      {"gavel",
       "Gavel *.trace (OSDI'20)",
       {},
       "",
       "github.com/stanford-futuredata/gavel scheduler/utils.py (parse_trace)",
       read_gavel,
       {},
       looks_like_gavel},
      {"migbench",
       "MIGBench trace.jsonl",
       {},
       "",
       "github.com/FouoF/MIG-scheduler-benchmark internal/model/model.go",
       read_migbench},
      {"batsim", "Batsim workload JSON", {}, "", "Batsim's documentation of its JSON workloads", read_batsim},
      {"sacct", "Slurm's history, sacct -a -X -P", {}, "", "sacct's manual page", read_sacct_lines},
      {"swf", "Standard Workload Format", {}, "", "the Parallel Workloads Archive's page on SWF", read_swf_lines},
  };
  return table;
}

}  // namespace smartmig
