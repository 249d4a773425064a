// Command etcd runs the etcd server, the store of the API server. hack/install-tools.sh builds it from its Go module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
