/**
 * Implements how kstatus (Flux, Helm), Argo CD and kubectl wait judge a FleetWorker: kstatus' generic rules in their
 * order; the health script in manifests/gitops/argocd/health.lua; kubectl wait, which counts a condition only if its
 * observedGeneration has reached the generation.
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/status/generic.go
 */
interface Seen {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly observedGeneration?: number
}
export interface Judged {
  readonly generation: number
  readonly suspend: boolean
  readonly deleting: boolean
  readonly status: { readonly observedGeneration?: number; readonly conditions?: readonly Seen[] }
}
/** The results of kstatus and Argo CD, and whether `kubectl wait --for=condition=Ready` succeeds. */
export type Judgement = readonly [string, string, boolean]

export const judge = (object: Judged): Judgement => [kstatus(object), argo(object), isReady(object)]

const conditionOf = ({ status }: Judged, type: string): string | undefined =>
  status.conditions?.find((each) => each.type === type)?.status
const isObserved = ({ generation, status }: Judged): boolean => status.observedGeneration === generation

function kstatus(object: Judged): string {
  if (object.deleting) return 'Terminating'
  if (!isObserved(object) || conditionOf(object, 'Reconciling') === 'True') return 'InProgress'
  if (conditionOf(object, 'Stalled') === 'True') return 'Failed'
  return ['True', undefined].includes(conditionOf(object, 'Ready')) ? 'Current' : 'InProgress'
}

function argo(object: Judged): string {
  if (!isObserved(object)) return 'Progressing'
  if (object.suspend) return 'Suspended'
  if (conditionOf(object, 'Stalled') === 'True') return 'Degraded'
  const reconciling = object.status.conditions?.find(({ type }) => type === 'Reconciling')
  if (reconciling?.reason === 'WaitingForApproval' || reconciling?.reason === 'Paused') return 'Suspended'
  if (reconciling?.status === 'True') return 'Progressing'
  return { True: 'Healthy', False: 'Degraded' }[conditionOf(object, 'Ready') ?? ''] ?? 'Progressing'
}

function isReady({ generation, status }: Judged): boolean {
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && (ready.observedGeneration ?? status.observedGeneration ?? 0) >= generation
}
