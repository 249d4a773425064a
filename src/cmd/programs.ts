/**
 * @module cmd/programs
 * The subcommands that run a part of a fleet, or open its store. The executable for clients, which has none of their
 * modules, contains executable-programs.ts instead.
 */
import type { Subcommand } from './subcommand.ts'

export const PROGRAMS = {
  dev: {
    summary: 'run a development fleet on this machine: master, workers and dashboard',
    load: () => import('./dev.ts'),
  },
  master: { summary: 'run a master, which coordinates a fleet of workers', load: () => import('./master.ts') },
  worker: { summary: 'run a worker, which runs one automation for a master', load: () => import('./worker.ts') },
  operator: {
    summary: 'run the operator, which applies FleetWorker objects of Kubernetes to workers',
    load: () => import('./operator.ts'),
  },
  bootstrap: {
    summary: 'create the missing Secrets of an installation in Kubernetes',
    load: () => import('./bootstrap.ts'),
  },
  store: { summary: 'show the layout, needs and masters of a store', load: () => import('./store.ts') },
} satisfies Readonly<Record<string, Subcommand>>
