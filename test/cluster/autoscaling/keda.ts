/** Installs KEDA in the cluster from the folder that hack/cluster/up.mjs --keda wrote, and removes it. */
import { existsSync } from 'node:fs'
import { describe, it } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import { kubectl, withCluster } from '../cluster.ts'

const FOLDER = `${process.cwd()}/.tools/cluster/keda`
const READY_WITHIN_MS = 180_000

/** Runs `define`, which defines tests; in a cluster without the images of KEDA it defines one skipped test instead. */
export function withKeda(name: string, define: () => void): void {
  withCluster(name, () => {
    if (existsSync(FOLDER)) define()
    else
      describe(name, () =>
        it.skip('this cluster has no images of KEDA: run make cluster-up ARGS=--keda', () => undefined),
      )
  })
}

/** Resolves when the API server gets metrics from KEDA. */
export async function installKeda(): Promise<void> {
  await kubectl('apply', '--server-side', '-k', FOLDER)
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

export const removeKeda = (): Promise<string> => kubectl('delete', '-k', FOLDER, '--ignore-not-found', '--timeout=120s')
