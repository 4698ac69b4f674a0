# A helper beside a web server: the sidecar starts first, runs as long as the server does, and writes the page anew every second into the directory
# that both share (/alloc/data); the server only serves it. If the sidecar ends it is started again. Needs raw_exec, and Python on the node.
job "sidecar" {
  type = "service"

  group "web" {
    network {
      port "http" {}
    }

    service {
      name     = "sidecar"
      provider = "nomad"
      port     = "http"
    }

    task "writer" {
      driver = "raw_exec"

      # Before the main task, and then for as long as it runs.
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }

      # Under another name first: whoever asks meanwhile gets the page before, never half of one.
      config {
        command = "/bin/sh"
        args = ["-c", <<-EOT
          cd $NOMAD_ALLOC_DIR/data
          n=0
          while n=$((n+1)); do
            echo "page $n by $NOMAD_TASK_NAME of $NOMAD_ALLOC_ID" > next
            mv next index.html
            sleep 1
          done
        EOT
        ]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "exec python3 -m http.server --directory $NOMAD_ALLOC_DIR/data --bind $NOMAD_IP_http $NOMAD_PORT_http"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
