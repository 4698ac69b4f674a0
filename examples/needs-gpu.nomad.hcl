# Asks for a graphics card, which no node offers, to show how that is said: planning warns of resources.device by name, the evaluation counts the
# nodes with "missing devices", and the job waits.
job "needs-gpu" {
  type = "batch"

  group "training" {
    task "train" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "nvidia-smi"]
      }

      resources {
        cpu    = 100
        memory = 64

        device "nvidia/gpu" {
          count = 1

          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "8 GiB"
          }
        }
      }
    }
  }
}
