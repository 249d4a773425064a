// The deep copies that controller-gen would generate.

package api

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto copies the receiver into out.
func (in *FleetWorker) DeepCopyInto(out *FleetWorker) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy of the receiver.
func (in *FleetWorker) DeepCopy() *FleetWorker {
	out := new(FleetWorker)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (in *FleetWorker) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopyInto copies the receiver into out.
func (in *FleetWorkerSpec) DeepCopyInto(out *FleetWorkerSpec) {
	*out = *in
	if in.Config != nil {
		out.Config = make(map[string]apiextensionsv1.JSON, len(in.Config))
		for k, v := range in.Config {
			out.Config[k] = *v.DeepCopy()
		}
	}
	out.Slots = copyInt(in.Slots)
}

// DeepCopyInto copies the receiver into out.
func (in *FleetWorkerStatus) DeepCopyInto(out *FleetWorkerStatus) {
	*out = *in
	if in.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(in.Conditions))
		for i := range in.Conditions {
			in.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
	if in.Config != nil {
		c := *in.Config
		out.Config = &c
	}
	out.Slots = copyInt(in.Slots)
}

// DeepCopy returns a copy of the receiver.
func (in *FleetWorkerStatus) DeepCopy() *FleetWorkerStatus {
	out := new(FleetWorkerStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (in *FleetWorkerList) DeepCopyObject() runtime.Object {
	out := &FleetWorkerList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		out.Items = make([]FleetWorker, len(in.Items))
		for i := range in.Items {
			in.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}

func copyInt(p *int32) *int32 {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
