/**
 * @module worker-test/manifest
 * Declares the automation that a worker under test runs. Its tasks select by `do` what a run does.
 */
import { stringify } from 'yaml'

export const TEST_TYPE = 'worker-test'
export const VISIBILITY_SECONDS = 3

const MANIFEST = {
  muster: 'automation/v1',
  type: TEST_TYPE,
  kind: 'batch',
  config: {
    type: 'object',
    properties: {
      label: { type: 'string', default: '', description: 'Part of each output of echo.' },
      password: { type: 'string', writeOnly: true, description: 'A secret that the runs do not use.' },
    },
  },
  payload: {
    type: 'object',
    required: ['do'],
    properties: {
      do: { enum: ['echo', 'fail', 'sleep', 'emit'] },
      value: { description: 'echo: emits {value, label}, where label is that of the config, and succeeds.' },
      error: { type: 'string', description: 'fail: the run fails with this text.' },
      seconds: {
        type: 'number',
        description: 'sleep: emits {started: true}, waits, emits {slept: seconds}, and succeeds.',
      },
      count: { type: 'integer', description: 'emit: emits {n, pad} for n from 0 to count - 1, and succeeds.' },
      bytes: { type: 'integer', default: 0, description: 'emit: pad is a string of this many characters "x".' },
    },
  },
  output: { type: 'object' },
  visibility_timeout_seconds: VISIBILITY_SECONDS,
}

/** @returns the manifest as YAML. */
export const manifestText = (): string => stringify(MANIFEST, { lineWidth: 120, flowCollectionPadding: true })
