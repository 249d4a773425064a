/**
 * The storage contract as tests that every backend must pass. Each method and each row of the transition tables has one
 * describe. Differences between backends are read from `capabilities`, never from the backend's name.
 */
import { bulkConfigs } from './contract/bulk-configs.ts'
import { audit } from './contract/audit.ts'
import { configs } from './contract/configs.ts'
import { drains } from './contract/drains.ts'
import { enrolments } from './contract/enrolments.ts'
import { operations } from './contract/operations.ts'
import { rollouts } from './contract/rollouts.ts'
import { rollups } from './contract/rollups.ts'
import { lifecycle } from './contract/lifecycle.ts'
import { namespaces } from './contract/namespaces.ts'
import { pieces } from './contract/pieces.ts'
import { pools } from './contract/pools.ts'
import { primitives } from './contract/primitives.ts'
import { registry } from './contract/registry.ts'
import { revisions } from './contract/revisions.ts'
import { streamBounds } from './contract/stream-bounds.ts'
import { streams } from './contract/streams.ts'
import { tasksAttempts } from './contract/tasks-attempts.ts'
import { tasksCancel } from './contract/tasks-cancel.ts'
import { tasksDeadGroups } from './contract/tasks-dead-groups.ts'
import { tasksReplays } from './contract/tasks-replays.ts'
import { tasksEdges } from './contract/tasks-edges.ts'
import { tasksGroupBounds } from './contract/tasks-group-bounds.ts'
import { tasksGroupPolicies } from './contract/tasks-group-policies.ts'
import { tasksGroups } from './contract/tasks-groups.ts'
import { tasksIn } from './contract/tasks-in.ts'
import { tasksList } from './contract/tasks-list.ts'
import { tasksOutcomes } from './contract/tasks-outcomes.ts'
import { tasksPause } from './contract/tasks-pause.ts'
import { tasksProgress } from './contract/tasks-progress.ts'
import { tasksRefused } from './contract/tasks-refused.ts'
import { tasksSettle } from './contract/tasks-settle.ts'
import { tasksSweep } from './contract/tasks-sweep.ts'
import { tasksUnique } from './contract/tasks-unique.ts'
import type { Create } from './contract/fixture.ts'

export type { Create } from './contract/fixture.ts'

type Suite = (name: string, create: Create) => void

/**
 * Runs the whole contract. `create` returns an isolated, unopened backend that uses the given clock.
 *
 * @param except suites that are not run, for a store that has only a part of a backend.
 */
export function testBackend(name: string, create: Create, except: readonly Suite[] = []): void {
  const suites: readonly Suite[] = [
    lifecycle,
    tasksIn,
    tasksRefused,
    tasksSettle,
    tasksSweep,
    tasksEdges,
    tasksOutcomes,
    tasksAttempts,
    tasksProgress,
    tasksPause,
    tasksCancel,
    tasksDeadGroups,
    tasksReplays,
    tasksList,
    tasksUnique,
    tasksGroups,
    tasksGroupBounds,
    tasksGroupPolicies,
    streams,
    streamBounds,
    pieces,
    registry,
    drains,
    configs,
    bulkConfigs,
    revisions,
    enrolments,
    rollouts,
    operations,
    audit,
    rollups,
    pools,
    primitives,
    namespaces,
  ]
  for (const suite of suites) if (!except.includes(suite)) suite(name, create)
}
