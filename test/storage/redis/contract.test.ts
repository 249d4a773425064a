import { jest } from '@jest/globals'
import { testBackend } from '../contract.ts'
import { withRedisStore } from './world.ts'

/** Answers of many megabytes may pass the bound of 1.5 s where other tests hold the machine: such a call is asked again, once. */
jest.retryTimes(1)

withRedisStore('redis backend', (create) => testBackend('redis', create))
