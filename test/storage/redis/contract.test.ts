import { testBackend } from '../contract.ts'
import { withRedisStore } from './world.ts'

withRedisStore('redis backend', (create) => testBackend('redis', create))
