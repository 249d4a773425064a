#!/usr/bin/env node
// Stops the cluster of `make cluster-up` and removes its files, also after a crash. Safe to run again. Needs root.
// Usage: node hack/cluster/down.mjs    Exit: 0 removed, 1 something could not be removed.
import { globSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { restoreKernelFigures } from './kernel.mjs'
import { removeNetwork } from './network.mjs'
import { CGROUP, FOLDER } from './paths.mjs'
import { endAll, quietly } from './processes.mjs'
import { acquireLock } from './lock.mjs'

/** What the kubelet and containerd mounted, the innermost first. */
function unmount() {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[1] ?? '').replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    )
  for (const point of points.filter((each) => each.startsWith(`${FOLDER}/`)).toReversed())
    quietly('umount', '--lazy', point)
}

/** The control groups of the pods, in every hierarchy, the innermost first. */
function removeControlGroups() {
  const groups = [`/sys/fs/cgroup/${CGROUP}`, `/sys/fs/cgroup/*/${CGROUP}`].flatMap((top) =>
    globSync([top, `${top}/**/`]),
  )
  for (const group of groups.toSorted((a, b) => b.length - a.length)) {
    try {
      rmdirSync(group)
    } catch {
      // Another hierarchy's name for the same, or a process that is ending; an empty group does no harm.
    }
  }
}

export async function down() {
  await endAll()
  unmount()
  removeNetwork()
  removeControlGroups()
  restoreKernelFigures()
  rmSync(FOLDER, { recursive: true, force: true })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    acquireLock()
    await down()
    console.log('the cluster is removed')
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
