# A page that writes itself from a variable and from services: its title is a variable, its lines are where the workers listen right now. Add a worker
# or change the variable, and the page follows while it is served; its server is not started again. Until the variable is written the server waits:
#   nomad var put nomad/jobs/directory title=Workers       (or PUT /v1/var/nomad/jobs/directory)
# Needs raw_exec, and Python on the node.
job "directory" {
  type = "service"

  group "workers" {
    count = 2

    network {
      port "http" {}
    }

    service {
      name     = "directory-worker"
      provider = "nomad"
      port     = "http"
    }

    task "worker" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "cd local; exec python3 -m http.server --bind $NOMAD_IP_http $NOMAD_PORT_http"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }

  group "page" {
    network {
      port "http" {}
    }

    service {
      name     = "directory"
      provider = "nomad"
      port     = "http"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "exec python3 -m http.server --directory local/site --bind $NOMAD_IP_http $NOMAD_PORT_http"]
      }

      template {
        destination = "local/site/index.html"
        change_mode = "noop" # the file is written anew, and that is all: the server reads it at each request
        data        = <<-TEXT
          {{ with nomadVar "nomad/jobs/directory" }}{{ .title }}{{ end }}
          {{ range nomadService "directory-worker" }}{{ .Address }}:{{ .Port }}
          {{ else }}nobody works yet
          {{ end -}}
        TEXT
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
