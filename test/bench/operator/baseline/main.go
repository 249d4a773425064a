// Command baseline is the FleetWorker operator as it is usually written with controller-runtime: the contender of
// `make bench-operator`, which measures it next to `muster operator` in the same run.
//
// One controller with 16 concurrent reconciles writes the config of each FleetWorker to the master, and two statuses:
// Synced after the PATCH, Ready after the worker's acknowledgement. It does not read the master's event feed, so it
// polls every object every 30 seconds for changes by other clients.
//
// It covers what the measurements need, and nothing else: no Secrets, no claims, no finalizers, no drain, no tenants.
// The master is SVC_MASTER_URL, its token SVC_API_TOKEN; --kubeconfig or KUBECONFIG name the API server.
package main

import (
	"flag"
	"log"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"muster.dev/bench/operator/api"
	"muster.dev/bench/operator/controller"
	"muster.dev/bench/operator/master"
)

// Connections to the master: twice the concurrent reconciles, so that none waits for one.
const masterConnections = 32

func main() {
	metricsAddress := flag.String("metrics-bind-address", "0", "address of /metrics; 0: none")
	probeAddress := flag.String("health-probe-bind-address", "0", "address of /healthz and /readyz; 0: none")
	concurrency := flag.Int("max-concurrent-reconciles", 16, "objects that are reconciled simultaneously")
	driftPoll := flag.Duration("drift-poll", 30*time.Second, "interval at which an object is reconciled again, ±10 %")
	ackPoll := flag.Duration("ack-poll", time.Second, "interval at which an unacknowledged config is read again")
	leaseNamespace := flag.String("leader-election-namespace", "muster", "namespace of the Lease")
	logOptions := zap.Options{}
	logOptions.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logOptions)))

	scheme := runtime.NewScheme()
	utilruntime.Must(api.AddToScheme(scheme))
	config := ctrl.GetConfigOrDie()
	config.QPS = -1 // No limit in the client: priority and fairness of the API server decide.
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: *metricsAddress},
		HealthProbeBindAddress:        *probeAddress,
		LeaderElection:                true,
		LeaderElectionID:              "operator-baseline",
		LeaderElectionNamespace:       *leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		log.Fatal(err)
	}
	token := os.Getenv("SVC_API_TOKEN")
	reconciler := &controller.Reconciler{
		Client:    manager.GetClient(),
		Master:    master.New(os.Getenv("SVC_MASTER_URL"), token, "kubernetes:operator-baseline", masterConnections),
		DriftPoll: *driftPoll,
		AckPoll:   *ackPoll,
	}
	if err := reconciler.SetupWithManager(manager, *concurrency); err != nil {
		log.Fatal(err)
	}
	utilruntime.Must(manager.AddHealthzCheck("healthz", healthz.Ping))
	utilruntime.Must(manager.AddReadyzCheck("readyz", healthz.Ping))
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
