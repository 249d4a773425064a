// Saves and restores the kernel settings that a kubelet changes on the machine. The first cluster of the machine saves
// them, and the last one that is removed restores them.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { NETWORKS } from './paths.mjs'

/** Like what it holds, it does not outlive the machine's uptime. */
const NOTED = '/run/muster-cluster-kernel-figures.json'
const PATHS = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
].map((name) => `/proc/sys/${name}`)

export function noteKernelFigures() {
  if (!existsSync(NOTED))
    writeFileSync(
      NOTED,
      JSON.stringify(Object.fromEntries(PATHS.map((path) => [path, readFileSync(path, 'utf8').trim()]))),
    )
}

/** After the network of the cluster was removed: those that are left are of others. */
export function restoreKernelFigures() {
  const isUsed = existsSync('/run/netns') && readdirSync('/run/netns').some((name) => name.startsWith(NETWORKS))
  if (isUsed || !existsSync(NOTED)) return
  for (const [path, figure] of Object.entries(JSON.parse(readFileSync(NOTED, 'utf8')))) writeFileSync(path, figure)
  rmSync(NOTED)
}
