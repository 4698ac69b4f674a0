# Work on what was downloaded: the file comes before the task starts, and only if it is the one that was meant. Here a Python package; give another
# file with `-var url=... -var sha256=...`. A checksum that does not fit fails the task, and its history says so. Needs raw_exec.
variable "url" {
  default = "https://files.pythonhosted.org/packages/d9/5a/e7c31adbe875f2abbb91bd84cf2dc52d792b5a01506781dbcf25c91daf11/six-1.16.0-py2.py3-none-any.whl"
}

variable "sha256" {
  default = "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254"
}

job "download" {
  type        = "batch"
  datacenters = ["*"]

  group "work" {
    task "measure" {
      driver = "raw_exec"

      artifact {
        source      = var.url
        destination = "local/input"
        mode        = "file"

        options {
          archive  = "false"
          checksum = "sha256:${var.sha256}"
        }
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "wc -c < local/input; sha256sum < local/input"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
