import { testModel } from '../model/run.ts'
import { newestStore, withRedisStore } from './fixture.ts'
import { checkStaleTickets } from './stale-tickets.ts'

withRedisStore('redis backend: model', (create) =>
  testModel('redis', {
    create,
    afterRun: () => checkStaleTickets(...newestStore()),
  }),
)
