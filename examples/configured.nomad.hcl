# A task whose configuration comes from a variable. Until somebody writes it the task waits, and its history says for what:
#   nomad var put nomad/jobs/configured greeting=hello     (or PUT /v1/var/nomad/jobs/configured)
# Write it anew, and the task starts again with what it says then.
job "configured" {
  type        = "service"
  datacenters = ["*"]

  group "app" {
    task "greeter" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "cat ${NOMAD_TASK_DIR}/greeting.txt; echo \"by $WHO\"; exec sleep 3600"]
      }

      template {
        destination = "local/greeting.txt"
        change_mode = "restart"
        splay       = "0s"
        data        = <<-TEXT
          {{ with nomadVar "nomad/jobs/configured" }}{{ .greeting | toUpper }}{{ end }}
        TEXT
      }

      template {
        destination = "secrets/settings.env"
        env         = true
        data        = "WHO={{ env \"NOMAD_TASK_NAME\" }} of {{ env \"NOMAD_JOB_NAME\" }}"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
