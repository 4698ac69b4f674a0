# A service in a root of its own: no command of the host's but to be run, no file of it but to be read, no process but its own. Needs a node
# whose agent is root, on Linux with control groups: its page says whether it has the driver exec, and else what is missing.
job "isolated" {
  type        = "service"
  datacenters = ["*"]

  group "app" {
    task "looks" {
      driver = "exec"

      config {
        command    = "/bin/sh"
        args       = ["-c", "id; ls /; ps -e 2>/dev/null; cat /local/note.txt; trap 'echo bye; exit 0' INT; while :; do sleep 1; done"]
        pids_limit = 50
      }

      template {
        destination = "local/note.txt"
        data        = "My directories are {{ env \"NOMAD_TASK_DIR\" }}, {{ env \"NOMAD_SECRETS_DIR\" }} and {{ env \"NOMAD_ALLOC_DIR\" }}.\n"
      }

      resources {
        cpu    = 50
        memory = 32 # MB: more is not to be had, the task would end with "OOM Killed"
      }
    }
  }
}
