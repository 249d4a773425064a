// Package controller reconciles FleetWorkers with the master as a controller-runtime operator usually does: per
// reconcile one GET of the worker, a PATCH if its config differs, and one status update if the status changed.
package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"muster.dev/bench/operator/api"
	"muster.dev/bench/operator/master"
)

const (
	unregisteredPoll = 30 * time.Second
	rejectedPoll     = 30 * time.Minute
	maxMessageBytes  = 1024
)

// Reconciler reconciles FleetWorkers.
type Reconciler struct {
	client.Client
	Master *master.Client
	// DriftPoll is the interval at which an object that needs no change is reconciled again, ±10 %.
	DriftPoll time.Duration
	// AckPoll is the interval at which a worker that has not acknowledged its config is read again.
	AckPoll time.Duration
}

// SetupWithManager registers the controller. Its own status updates start no reconcile.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&api.FleetWorker{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// Reconcile brings the master in line with one FleetWorker, and writes its status if it changed.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var fw api.FleetWorker
	if err := r.Get(ctx, request.NamespacedName, &fw); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !fw.DeletionTimestamp.IsZero() || fw.Spec.Suspend {
		return ctrl.Result{}, nil
	}
	before := fw.Status.DeepCopy()
	result, syncErr := r.sync(ctx, &fw)
	fw.Status.ObservedGeneration = fw.Generation
	if !equality.Semantic.DeepEqual(before, &fw.Status) {
		if err := r.Status().Update(ctx, &fw); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	return result, syncErr
}

// sync reads the worker, writes its config if it differs, and sets the conditions of fw.
func (r *Reconciler) sync(ctx context.Context, fw *api.FleetWorker) (ctrl.Result, error) {
	id := fw.Spec.WorkerID
	if id == "" {
		id = fw.Name
	}
	worker, err := r.Master.Worker(ctx, fw.Spec.Type, id)
	if master.IsStatus(err, 404) {
		setBoth(fw, metav1.ConditionFalse, "WorkerNotRegistered", "no worker with this id has registered")
		return ctrl.Result{RequeueAfter: unregisteredPoll}, nil
	}
	if err != nil {
		setBoth(fw, metav1.ConditionUnknown, "MasterUnreachable", "the worker could not be read")
		return ctrl.Result{}, err
	}
	defaults, err := r.Master.Defaults(ctx, fw.Spec.Type)
	if err != nil {
		setBoth(fw, metav1.ConditionUnknown, "MasterUnreachable", "the catalog could not be read")
		return ctrl.Result{}, err
	}
	desired, err := desiredConfig(fw, defaults)
	if err != nil {
		setBoth(fw, metav1.ConditionFalse, "ConfigInvalid", err.Error())
		return ctrl.Result{}, nil // Until the spec changes.
	}
	if patch := diff(desired, worker.Config); len(patch) > 0 && fw.Spec.ManagementPolicy != "Observe" {
		generation, err := r.Master.PatchConfig(ctx, fw.Spec.Type, id, worker, patch)
		if master.IsStatus(err, 422) {
			setBoth(fw, metav1.ConditionFalse, "Rejected", err.Error())
			return ctrl.Result{RequeueAfter: rejectedPoll}, nil
		}
		if err != nil {
			setBoth(fw, metav1.ConditionFalse, "Updating", "the config could not be written; retrying")
			return ctrl.Result{}, err
		}
		worker.ConfigGen = generation
	}
	return r.report(fw, worker), nil
}

// report sets the status of an object whose config is at the master.
func (r *Reconciler) report(fw *api.FleetWorker, worker *master.Worker) ctrl.Result {
	set(fw, "Synced", metav1.ConditionTrue, "InSync", "the config at the master equals that of this object")
	fw.Status.State = worker.State
	fw.Status.Selector = "muster.dev/uid=" + string(fw.UID)
	fw.Status.Config = &api.ConfigStatus{Generation: worker.ConfigGen, Epoch: worker.Epoch}
	applied := int64(0)
	if worker.AppliedConfigGen != nil {
		applied = *worker.AppliedConfigGen
		fw.Status.Config.AppliedGeneration = applied
	}
	if worker.CurrentStats != nil {
		fw.Status.Slots = &worker.CurrentStats.Slots
	}
	switch {
	case applied < worker.ConfigGen:
		message := fmt.Sprintf("waiting for config generation %d", worker.ConfigGen)
		set(fw, "Ready", metav1.ConditionFalse, "WaitingForWorker", message)
		return ctrl.Result{RequeueAfter: r.AckPoll}
	case !worker.Connected:
		set(fw, "Ready", metav1.ConditionFalse, "Offline", "the worker is not connected")
	case worker.State == "ERROR":
		set(fw, "Ready", metav1.ConditionFalse, "WorkerError", "the worker is in state ERROR")
	default:
		set(fw, "Ready", metav1.ConditionTrue, "Ready", "the worker runs this config")
	}
	return ctrl.Result{RequeueAfter: jitter(r.DriftPoll)}
}

func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// desiredConfig returns the defaults, overridden by the config of the object. A null field counts as not named.
func desiredConfig(fw *api.FleetWorker, defaults map[string]any) (map[string]any, error) {
	desired := make(map[string]any, len(defaults))
	for name, value := range defaults {
		desired[name] = value
	}
	for name, raw := range fw.Spec.Config {
		var value any
		if err := json.Unmarshal(raw.Raw, &value); err != nil {
			return nil, fmt.Errorf("config.%s: %w", name, err)
		}
		if value != nil {
			desired[name] = value
		}
	}
	if fw.Spec.Slots != nil {
		desired["slots"] = float64(*fw.Spec.Slots)
	}
	return desired, nil
}

// diff returns the top-level fields to send; null resets a field that is not desired.
func diff(desired, actual map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range desired {
		if current, ok := actual[name]; !ok || !reflect.DeepEqual(value, current) {
			patch[name] = value
		}
	}
	for name := range actual {
		if _, ok := desired[name]; !ok {
			patch[name] = nil
		}
	}
	return patch
}

// setBoth sets Synced and Ready to the same state.
func setBoth(fw *api.FleetWorker, status metav1.ConditionStatus, reason, message string) {
	set(fw, "Synced", status, reason, message)
	set(fw, "Ready", status, reason, message)
}

func set(fw *api.FleetWorker, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&fw.Status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            message[:min(len(message), maxMessageBytes)],
		ObservedGeneration: fw.Generation,
	})
}
