# A service that is a container: its port is published to the host, its page is rendered from a template. Needs a node with a container engine
# (Docker, or podman's socket by `--docker-socket`) that can pull the image or has it.
job "container" {
  type        = "service"
  datacenters = ["*"]

  group "web" {
    network {
      port "http" {
        to = 8080 # what it listens on inside
      }
    }

    task "httpd" {
      driver = "docker"

      config {
        image   = "busybox:1.36"
        command = "httpd"
        args    = ["-f", "-p", "8080", "-h", "/local/site"]
        ports   = ["http"]
        init    = true # the first process of a container hears no signal it does not handle
      }

      template {
        destination = "local/site/index.html"
        data        = "hello from {{ env \"NOMAD_ALLOC_ID\" }}\n"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
