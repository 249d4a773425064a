import { testModel } from '../model/run.ts'
import { checkGroupKeys } from './group-keys.ts'
import { newestStore, withRedisStore } from './fixture.ts'
import { checkStaleTickets } from './stale-tickets.ts'

withRedisStore('redis backend: model', (create) =>
  testModel('redis', {
    create,
    afterRun: async () => {
      const [client, prefix] = newestStore()
      await checkGroupKeys(client, prefix)
      await checkStaleTickets(client, prefix)
    },
  }),
)
