import { testBackend } from '../contract.ts'
import { withRedisStore } from './fixture.ts'

withRedisStore('redis backend', (create) => testBackend('redis', create))
