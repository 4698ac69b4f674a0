# Five allocations that count to a number and end. Change `up_to` and run it again to see a new version.
variable "up_to" {
  type        = number
  description = "how far each allocation counts"
  default     = 10

  validation {
    condition     = var.up_to > 0 && var.up_to <= 1000
    error_message = "Choose a number from 1 to 1000."
  }
}

job "batch-count" {
  type     = "batch"
  priority = 40

  group "counters" {
    count = 5

    task "count" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "for n in $(seq 1 ${var.up_to}); do echo \"$n\"; sleep 0.2; done"]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
