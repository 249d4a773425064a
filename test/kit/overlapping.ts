/**
 * Defines tests that mostly wait for other processes. At commit those of one `describe` run together; with SOAK=1 they
 * run one after the other, so that no long run disturbs the figures of another one. Hooks of `beforeEach` and
 * `afterEach` may run or not, so such a test brings and removes what it needs.
 */
import { it } from '@jest/globals'

type Overlapping = typeof it.concurrent

export const overlapping: Overlapping = process.env['SOAK'] === '1' ? it : it.concurrent
