# Two web servers that others find by name: GET /v1/service/web-service tells where they listen. Change `version` and run it again: they are replaced
# one after the other, the second only once the check of the first passes, and one of them answers all the while. Needs raw_exec, and Python on the node.
variable "version" {
  default = "v1"
}

job "web-service" {
  type = "service"

  update {
    max_parallel     = 1
    health_check     = "checks"
    min_healthy_time = "1s"
    healthy_deadline = "1m"
    auto_revert      = true
  }

  group "web" {
    count          = 2
    shutdown_delay = "1s"

    network {
      port "http" {}
    }

    service {
      name     = "web-service"
      provider = "nomad"
      port     = "http"
      tags     = ["http", "instance-${NOMAD_ALLOC_INDEX}"]

      check {
        name     = "answers"
        type     = "http"
        path     = "/index.html"
        interval = "2s"
        timeout  = "1s"

        check_restart {
          limit = 3
          grace = "10s"
        }
      }
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = ["-c", join(" && ", [
          "cd local",
          "echo ${var.version} says hello from $NOMAD_ALLOC_ID > index.html",
          "exec python3 -m http.server --bind $NOMAD_IP_http $NOMAD_PORT_http",
        ])]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
