/** A rollout report with every field that one needs (D148). */
import type { RolloutBody } from '../../src/protocol/index.ts'

export const rolloutReport = (more: Partial<RolloutBody> = {}): RolloutBody => ({
  set: { namespace: 'prod', name: 'crawlers', uid: 'u-1' },
  update_revision: 'r2',
  attempt: 1,
  phase: 'Baking',
  stage: 1,
  stages: 3,
  since: 1_767_225_600,
  counts: {
    matched: 240,
    online: 237,
    updated: 1,
    acknowledged: 237,
    ready: 236,
    unavailable: 1,
    absent: 3,
    pending: 239,
    failed: 0,
    pinned: 0,
    conflicted: 0,
    cordoned: 0,
  },
  message: 'stage 1 of 3, baking',
  next: { text: 'The stage is judged when its bake ends.' },
  ...more,
})
