import { testModel } from '../model/run.ts'
import { withRedisStore } from './world.ts'

withRedisStore('redis backend: model', (create) => testModel('redis', { create }))
