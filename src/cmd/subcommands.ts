/** @module cmd/subcommands  The subcommands of the command line, each with the modules that it loads when it runs. */

import type { Options } from './admin/index.ts'

export interface Subcommand {
  readonly summary: string
  readonly load: () => Promise<{
    run: (argv: readonly string[]) => Promise<number>
    help?: () => string
    /** For the completion of their values; the help lists the options as well. */
    OPTIONS?: Options
  }>
}

/** The admin verbs of one noun, which print their own help. */
function admin(noun: string): Subcommand['load'] {
  return async () => {
    const { processIo, runAdmin } = await import('./admin/index.ts')
    return { run: (argv) => runAdmin(noun, argv, processIo()) }
  }
}

export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  dev: {
    summary: 'run a development fleet on this machine: master, workers and dashboard',
    load: () => import('./dev.ts'),
  },
  master: { summary: 'run a master, which coordinates a fleet of workers', load: () => import('./master.ts') },
  worker: { summary: 'run a worker, which runs one automation for a master', load: () => import('./worker.ts') },
  'worker-test': {
    summary: 'check a worker in any language against the worker protocol',
    load: () => import('./worker-test.ts'),
  },
  operator: {
    summary: 'run the operator, which applies FleetWorker objects of Kubernetes to workers',
    load: () => import('./operator.ts'),
  },
  bootstrap: {
    summary: 'create the missing Secrets of an installation in Kubernetes',
    load: () => import('./bootstrap.ts'),
  },
  completion: {
    summary: 'print the script that completes commands in bash, zsh or fish',
    load: () => import('./completion.ts'),
  },
  doctor: {
    summary: 'check the connection to the master, proxies on the way, the token and the fleet',
    load: () => import('./doctor/index.ts'),
  },
  store: { summary: 'show the layout, needs and masters of a store', load: () => import('./store.ts') },
  why: { summary: 'explain why a queue or a worker makes no progress', load: admin('why') },
  alerts: { summary: 'list the alerts of the fleet', load: admin('alerts') },
  workers: { summary: 'list, inspect, drain or forget workers, read their logs', load: admin('workers') },
  config: { summary: 'show or change the config of a worker, or list its history', load: admin('config') },
  tasks: { summary: 'submit, list, find or cancel tasks, or wait for their results', load: admin('tasks') },
  queue: {
    summary: 'list pending tasks and their groups, show the history of a queue, pause or resume it',
    load: admin('queue'),
  },
  dead: { summary: 'list, replay, edit or remove dead-lettered tasks', load: admin('dead') },
  output: { summary: 'follow, peek at or pop the output of an automation', load: admin('output') },
  pools: { summary: 'list pools, their items and claims, or end a claim', load: admin('pools') },
  operations: {
    summary: 'create, list, cancel, undo or export operations on many workers',
    load: admin('operations'),
  },
  audit: { summary: 'list who changed what', load: admin('audit') },
  rollout: {
    summary: 'watch, pause, promote, abort or undo the rollout of a FleetWorkerSet',
    load: admin('rollout'),
  },
  automations: { summary: 'list installed automations and their schemas', load: admin('automations') },
  explain: { summary: 'describe the fields of the config, payload or output of a type', load: admin('explain') },
  context: {
    summary: 'list, choose, change or remove contexts: masters and where their tokens come from',
    load: admin('context'),
  },
  version: { summary: 'print the versions of this command and of the master', load: admin('version') },
}
