/** Installs KEDA in the cluster from the folder that hack/cluster/up.mjs --keda wrote, and removes it. */
import { eventually } from '../../kit/index.ts'
import { FOLDER, kubectl } from '../cluster.ts'

const KEDA = `${FOLDER}/keda`
const READY_WITHIN_MS = 180_000

/** Resolves when the API server gets metrics from KEDA. */
export async function installKeda(): Promise<void> {
  await kubectl('apply', '--server-side', '-k', KEDA)
  await eventually(
    'the API server reads metrics from KEDA',
    () =>
      kubectl('get', '--raw', '/apis/external.metrics.k8s.io/v1beta1').then(
        (text) => text.includes('externalmetrics'),
        () => false,
      ),
    { withinMs: READY_WITHIN_MS },
  )
}

export const removeKeda = (): Promise<string> => kubectl('delete', '-k', KEDA, '--ignore-not-found', '--timeout=120s')
