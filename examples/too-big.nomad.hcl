# Asks for more memory than any node has, to show how the cluster explains what it cannot place.
job "too-big" {
  type = "service"

  group "giant" {
    count = 1

    task "sleeper" {
      driver = "raw_exec"

      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }

      resources {
        cpu    = 100
        memory = 100000000 # MB
      }
    }
  }
}
