# A service that says hello every few seconds. Needs a node on which raw_exec is allowed.
job "hello" {
  type = "service"

  group "greeter" {
    count = 2

    restart {
      attempts = 2
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    task "loop" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "n=0; while true; do n=$((n+1)); echo \"$GREETING $n from $NOMAD_ALLOC_NAME\"; sleep 3; done"]
      }

      env {
        GREETING = "hello"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
