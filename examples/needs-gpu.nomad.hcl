# Asks for a graphics card with memory enough. Where no node has one the evaluation counts the nodes with "missing devices", and the job waits; a node with such
# a card (an agent with NVIDIA's driver and the extra `gpu`) that joins runs it. The task is told which card is its own.
job "needs-gpu" {
  type = "batch"

  group "training" {
    task "train" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo my card: $NVIDIA_VISIBLE_DEVICES; command -v nvidia-smi && nvidia-smi -L || true"]
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
