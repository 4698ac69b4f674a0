# A batch that is launched by the clock: every launch is a job of its own below this one. A launch is left out while the one before still runs.
# Not to wait for the clock: *Launch now* on the job's page, or nomad job periodic force cron. Needs a node on which raw_exec is allowed.
variable "when" {
  description = "minute, hour, day, month, weekday; six fields begin with seconds, seven end with the year"
  default     = "30 6 * * 1-5"
}

job "cron" {
  type = "batch"

  periodic {
    crons            = [var.when]
    time_zone        = "Europe/Berlin"
    prohibit_overlap = true
  }

  group "report" {
    task "disk" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo \"report of $NOMAD_JOB_ID below $NOMAD_JOB_PARENT_ID\"; df -P ."]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
