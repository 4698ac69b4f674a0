# Says its process id; kill it. The first time the agent restarts it, the next time the scheduler replaces it.
job "comes-back" {
  type = "service"

  group "survivor" {
    # The agent restarts the task once in ten minutes; a second failure ends the allocation.
    restart {
      attempts = 1
      interval = "10m"
      delay    = "3s"
      mode     = "fail"
    }

    # A failed allocation is replaced after five seconds, each time anew.
    reschedule {
      delay          = "5s"
      delay_function = "constant"
      unlimited      = true
    }

    task "loop" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo \"$NOMAD_ALLOC_ID runs as process $$; try: kill $$\"; sleep 3; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
