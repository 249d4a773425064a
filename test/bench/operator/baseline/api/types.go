// Package api has the Go types of FleetWorker, muster.dev/v1alpha1, as far as the baseline uses its fields.
package api

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "muster.dev", Version: "v1alpha1"}

// AddToScheme registers the types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &FleetWorker{}, &FleetWorkerList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// FleetWorker is the whole config of one worker.
type FleetWorker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FleetWorkerSpec   `json:"spec"`
	Status FleetWorkerStatus `json:"status,omitempty"`
}

// FleetWorkerSpec is the desired state.
type FleetWorkerSpec struct {
	Type             string                          `json:"type"`
	WorkerID         string                          `json:"workerId,omitempty"`
	Config           map[string]apiextensionsv1.JSON `json:"config,omitempty"`
	Slots            *int32                          `json:"slots,omitempty"`
	ManagementPolicy string                          `json:"managementPolicy,omitempty"`
	Suspend          bool                            `json:"suspend,omitempty"`
}

// FleetWorkerStatus is the observed state.
type FleetWorkerStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	State              string             `json:"state,omitempty"`
	Config             *ConfigStatus      `json:"config,omitempty"`
	Slots              *int32             `json:"slots,omitempty"`
	Selector           string             `json:"selector,omitempty"`
}

// ConfigStatus has the generation of the config at the master, and the one that the worker acknowledged.
type ConfigStatus struct {
	Generation        int64  `json:"generation"`
	AppliedGeneration int64  `json:"appliedGeneration,omitempty"`
	Epoch             string `json:"epoch,omitempty"`
}

// FleetWorkerList is a list of FleetWorkers.
type FleetWorkerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FleetWorker `json:"items"`
}
