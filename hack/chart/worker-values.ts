/**
 * @module hack/chart/worker-values
 * The values of the chart for one entry of `workers`, and for `workerDefaults`.
 */
import { closed, int, intOrNull, mapOf, persistence, pod, raw, text, TYPE_OR_NONE, word } from './schema.ts'

/** As in the protocol, without the comma that separates labels in SVC_WORKER_LABELS. */
const LABEL_KEY = '^[a-z0-9]([a-z0-9./-]{0,61}[a-z0-9])?$'
const LABEL_VALUE = '^([!-+.-~-]([ -+.-~-]*[!-+.-~-])?)?$'

const autoscaling = closed({
  type: word(
    ['none', 'hpa', 'keda'],
    'none',
    'What sets the number of pods instead of replicas: none; hpa = a HorizontalPodAutoscaler, which needs the metric ' +
      'svc_wanted_slots as an External metric; keda = a ScaledObject.',
  ),
  minReplicas: int('Minimum number of pods; not above maxReplicas. 0 needs keda.', 1, 0, 10_000),
  maxReplicas: int('Maximum number of pods.', 10, 1, 10_000),
  targetWaitSeconds: int(
    'How long tasks may wait. Not for hpa: there SVC_LOAD_TARGET_WAIT_SECONDS of the master counts.',
    30,
    1,
    86_400,
  ),
  slotsPerWorker: int('Slots of each worker; 0 = set.slots, else the mean of the workers (not for hpa).', 0, 0, 1_024),
  scaleIn: word(
    ['Safe', 'Plain'],
    'Safe',
    'Safe = scale the FleetWorkerSet, so pods are removed only when their workers hold no task; needs set, ' +
      'fleetSets.enabled and operator.rbac.scaleWorkers. Plain = scale the StatefulSet; tasks have ' +
      'drainTimeoutSeconds.',
  ),
  pollingSeconds: int('Interval at which KEDA reads the load.', 5, 1, 3_600),
  cooldownSeconds: int('How long KEDA waits with the last step to 0 pods.', 120, 0, 86_400),
  behavior: raw('Scaling behavior of the HorizontalPodAutoscaler, as in autoscaling/v2; KEDA creates one too.'),
})

export const WorkerSet = closed(
  {
    type: text('Automation type; required.', '', { pattern: TYPE_OR_NONE }),
    replicas: intOrNull(
      'Number of pods. Each needs a FleetWorker of the same name, or a FleetWorkerSet. null = leave the field out, ' +
        'because a FleetWorkerSet or an autoscaler sets it, as with autoscaling.type.',
      1,
      0,
      10_000,
    ),
    set: raw(
      'Spec of the FleetWorkerSet that configures these workers, for example {slots: 4, config: {enabled: true}}; ' +
        '{} = none. Type, selector and workload are added. Rendered if fleetSets.enabled is true.',
    ),
    autoscaling,
    drainTimeoutSeconds: int(
      'Seconds that running tasks have to finish after SIGTERM. The grace period of the pod is 15 s longer.',
      30,
      0,
      86_400,
    ),
    labels: mapOf<string>(
      'Labels that the workers register with, for example zone: eu-1. Those of the pods are pod.labels.',
      { type: 'string', maxLength: 63, pattern: LABEL_VALUE },
      LABEL_KEY,
    ),
    image: raw('Overrides keys of the top-level image, for example to use an image that contains your automations.'),
    persistence: persistence(false, '1Gi', {
      mountPath: text('Mount path of the volume.', '/data', { pattern: '^/' }),
    }),
    securityContext: raw("Overrides keys of the container's securityContext. Other components have no such setting."),
    pod: pod({ cpu: '100m', memory: '128Mi', limit: '512Mi' }),
  },
  'Defaults of every entry of workers.',
)
