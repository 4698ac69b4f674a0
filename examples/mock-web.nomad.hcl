# A rolling update without real processes: mock_driver only pretends, so this runs on a simulated fleet.
# Change `version` and run it again: a canary starts first and waits to be promoted.
variable "version" {
  default = "1"
}

job "mock-web" {
  type        = "service"
  datacenters = ["*"]

  update {
    max_parallel     = 2
    canary           = 1
    health_check     = "task_states"
    min_healthy_time = "2s"
    healthy_deadline = "1m"
    auto_revert      = true
  }

  spread {
    attribute = "${node.datacenter}"
    weight    = 50
  }

  group "web" {
    count          = 6
    shutdown_delay = "1s"

    network {
      port "http" {}
    }

    task "server" {
      driver = "mock_driver"

      config {
        run_for = "24h"
      }

      env {
        VERSION = var.version
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
