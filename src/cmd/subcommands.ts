/** @module cmd/subcommands  The subcommands of the command line, each with the modules that it loads when it runs. */
import { PROGRAMS } from './programs.ts'
import type { Subcommand } from './subcommand.ts'

/** The admin verbs of one noun, which print their own help. */
function admin(noun: string): Subcommand['load'] {
  return async () => {
    const { processIo, runAdmin } = await import('./admin/index.ts')
    return { run: (argv) => runAdmin(noun, argv, processIo()) }
  }
}

export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  dev: PROGRAMS.dev,
  master: PROGRAMS.master,
  worker: PROGRAMS.worker,
  'worker-test': {
    summary: 'check a worker in any language against the worker protocol',
    load: () => import('./worker-test.ts'),
  },
  operator: PROGRAMS.operator,
  bootstrap: PROGRAMS.bootstrap,
  completion: {
    summary: 'print the script that completes commands in bash, zsh or fish',
    load: () => import('./completion.ts'),
  },
  doctor: {
    summary: 'check the connection to the master, proxies on the way, the token and the fleet',
    load: () => import('./doctor/index.ts'),
  },
  store: PROGRAMS.store,
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
  migrate: { summary: 'replace old names of fields in manifests', load: admin('migrate') },
  context: {
    summary: 'list, choose, change or remove contexts: masters and where their tokens come from',
    load: admin('context'),
  },
  version: { summary: 'print the versions of this command and of the master', load: admin('version') },
}
