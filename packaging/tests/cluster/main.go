// A Kubernetes cluster of one node in one program: cluster PART OPTIONS...
//
// Each part is the program of that name, as its project makes it, with its own options. No registry that a test may use has the
// built programs, but the Go module proxy has the sources. In one program, what the parts share is compiled and linked once.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Not a map of built commands: some of them register flags of the whole process when they are made.
func command(part string) *cobra.Command {
	switch part {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	}
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "cluster: name a part: etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kubelet")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	if part == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	chosen := command(part)
	if chosen == nil {
		fmt.Fprintf(os.Stderr, "cluster: there is no part %q\n", part)
		os.Exit(2)
	}
	os.Exit(cli.Run(chosen))
}
