# Two web servers on the same port, each in a network of its own; others reach them by the port that is mapped to it, and the task beside reaches it by localhost.
# Needs raw_exec, Python on the node, and a node that offers bridge: its attribute unique.bivouac.network.bridge says whether it does, and else what is missing.
job "own-network" {
  type = "service"

  group "web" {
    count = 2

    network {
      mode = "bridge"

      port "http" {
        to = 8080
      }
    }

    service {
      name     = "own-network"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/index.html"
        interval = "2s"
        timeout  = "1s"
      }
    }

    service {
      name         = "own-network-inside"
      provider     = "nomad"
      port         = "http"
      address_mode = "alloc"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = ["-c", join(" && ", [
          "cd local",
          "echo hello from $NOMAD_ALLOC_ID at $NOMAD_ALLOC_ADDR_http > index.html",
          "exec python3 -m http.server $NOMAD_PORT_http",
        ])]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }

    task "beside" {
      driver = "raw_exec"

      lifecycle {
        hook    = "poststart"
        sidecar = true
      }

      config {
        command = "python3"
        args = ["-uc", <<-EOT
          import time, urllib.request
          while True:
              try:
                  print(urllib.request.urlopen("http://localhost:8080/index.html").read().decode(), end="")
              except OSError as problem:
                  print(problem)
              time.sleep(5)
        EOT
        ]
      }

      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}
