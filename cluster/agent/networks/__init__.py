"""Networks of allocations beside the host's: namespaces, CNI plugins, what a node offers."""
