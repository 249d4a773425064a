/**
 * @module cmd/admin/rollout/noun
 * `muster rollout`: shows the rollout of a FleetWorkerSet, and what a person can do about it. The verbs use the
 * kubeconfig, as kubectl does, and no master: promote, abort and retry are annotations that name the revision they are
 * meant for, so one that arrives late has no effect. The code that calls the API server is loaded by the first verb.
 */
import { flag, integer, text } from '../../readers.ts'
import { clusterVerb, type Noun } from '../verb.ts'

const MAX_STAGE = 11

const NAME = { operands: 'NAME', least: 1, most: 1 } as const

const status = clusterVerb({
  ...NAME,
  name: 'status',
  names: 'NAME',
  summary:
    'Shows how far the rollout of a set is, and the next command. Exits with 1 if it failed. With --watch it waits ' +
    'for the end, and exits with 0 if it is complete, 1 if it failed, 6 if the time is over.',
  examples: ['crawlers -n prod', 'crawlers -n prod --watch --timeout 3600'],
  options: {
    watch: { name: 'watch', short: 'w', help: 'Wait until the rollout is complete or has failed.', read: flag },
    timeout: {
      name: 'timeout',
      value: 'SECONDS',
      help: 'Time limit of --watch (default: none).',
      read: integer(1, 604_800),
    },
  },
  run: async (call) => (await import('./status.ts')).showStatus(call),
})

const history = clusterVerb({
  ...NAME,
  name: 'history',
  names: 'REVISION',
  summary: 'Lists the revisions of a set, newest first, and which fields each changed.',
  examples: ['crawlers -n prod', 'crawlers -n prod -o yaml'],
  options: {},
  run: async (call) => (await import('./history.ts')).showHistory(call),
})

const pause = clusterVerb({
  ...NAME,
  name: 'pause',
  names: 'NAME',
  summary: 'Pauses rollouts of a set: sets spec.paused. Workers that have the new config keep it.',
  changes: true,
  examples: ['crawlers -n prod'],
  options: {},
  run: async (call) => (await import('./acts.ts')).setPaused(call, true),
})

const resume = clusterVerb({
  ...NAME,
  name: 'resume',
  names: 'NAME',
  summary: 'Resumes rollouts of a set. Does nothing if they are not paused.',
  changes: true,
  examples: ['crawlers -n prod'],
  options: {},
  run: async (call) => (await import('./acts.ts')).setPaused(call, false),
})

const promote = clusterVerb({
  ...NAME,
  name: 'promote',
  names: 'NAME',
  summary: 'Continues a rollout that waits after a stage.',
  changes: true,
  examples: ['crawlers -n prod', 'crawlers -n prod --all'],
  options: {
    stage: {
      name: 'stage',
      value: 'N',
      help: 'The stage that has passed (default: the one after which the rollout waits).',
      read: integer(1, MAX_STAGE),
    },
    all: { name: 'all', help: 'Give the config to all workers now, without further judgement.', read: flag },
  },
  run: async (call) => (await import('./acts.ts')).promote(call),
})

const abort = clusterVerb({
  ...NAME,
  name: 'abort',
  names: 'NAME',
  summary: 'Ends a rollout as failed: the updated workers return to the current revision.',
  changes: true,
  examples: ['crawlers -n prod'],
  options: {},
  run: async (call) => (await import('./acts.ts')).abort(call),
})

const retry = clusterVerb({
  ...NAME,
  name: 'retry',
  names: 'NAME',
  summary: 'Rolls out a failed revision again, from the first stage.',
  changes: true,
  examples: ['crawlers -n prod'],
  options: {},
  run: async (call) => (await import('./acts.ts')).retry(call),
})

const undo = clusterVerb({
  ...NAME,
  name: 'undo',
  names: 'NAME',
  summary:
    'Writes config and configFrom of an earlier revision into the set, which then rolls them out. If a GitOps engine ' +
    'owns them, it changes nothing, prints the fields to write into Git, and exits with 5.',
  changes: true,
  examples: ['crawlers -n prod', 'crawlers -n prod --to 7f3ac1d09b2e'],
  options: {
    to: {
      name: 'to',
      value: 'REVISION',
      help: 'The revision, or its number in the history (default: the one before).',
      read: text,
    },
  },
  run: async (call) => (await import('./undo.ts')).undo(call),
})

export const rollout: Noun = {
  summary: 'watch, pause, promote, abort or undo the rollout of a FleetWorkerSet',
  verbs: [status, history, pause, resume, promote, abort, retry, undo],
}
