import { testModel } from '../model/run.ts'
import { withRedisStore } from './fixture.ts'

withRedisStore('redis backend: model', (create) => testModel('redis', { create }))
